#ifndef CRUNTIMESCRIPTS_H
#define CRUNTIMESCRIPTS_H

#include <stddef.h>

/// One of the scripts of Sources/JavaScript/Runtime: `parse/object`, and its text.
struct hermes_runtime_script {
    const char *name;
    const char *text;
};

/// NULL past the last one.
const struct hermes_runtime_script *hermes_runtime_script_at(size_t index);

#endif
