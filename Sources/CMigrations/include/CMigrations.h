#pragma once
#include <stddef.h>

/// One file of sql/, as it stood when the program was built.
struct hermes_migration {
    int number;
    /// The file's name without number and ending.
    const char *name;
    /// UTF-8; ends with a zero that `length` does not count.
    const char *sql;
    size_t length;
};

/// The files in the order of their numbers; NULL past the last one.
const struct hermes_migration *hermes_migration_at(size_t index);
