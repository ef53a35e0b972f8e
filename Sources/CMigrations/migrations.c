// The files of sql/ within the program, so that it can bring any database up to date by itself. A new file needs two
// entries here; a test says so where they are missing.
//
// #embed is C23's. SwiftPM's embedInCode was tried first: 56 KB of SQL took 15 s to compile.
#include "CMigrations.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char sql_0001[] = {
#embed "../../sql/0001_catalogue.sql" suffix(, 0)
};

static const char sql_0002[] = {
#embed "../../sql/0002_operators.sql" suffix(, 0)
};

static const char sql_0003[] = {
#embed "../../sql/0003_schema_versions.sql" suffix(, 0)
};

static const char sql_0004[] = {
#embed "../../sql/0004_indexes.sql" suffix(, 0)
};

static const char sql_0005[] = {
#embed "../../sql/0005_session_digests.sql" suffix(, 0)
};

static const char sql_0006[] = {
#embed "../../sql/0006_unset.sql" suffix(, 0)
};

static const char sql_0007[] = {
#embed "../../sql/0007_jobs.sql" suffix(, 0)
};

static const char sql_0008[] = {
#embed "../../sql/0008_hooks.sql" suffix(, 0)
};

static const char sql_0009[] = {
#embed "../../sql/0009_rate_limits.sql" suffix(, 0)
};

static const char sql_0010[] = {
#embed "../../sql/0010_mailed_tokens.sql" suffix(, 0)
};

static const char sql_0011[] = {
#embed "../../sql/0011_session_ends.sql" suffix(, 0)
};

static const char sql_0012[] = {
#embed "../../sql/0012_logins.sql" suffix(, 0)
};

static const char sql_0013[] = {
#embed "../../sql/0013_words_and_presence.sql" suffix(, 0)
};

static const char sql_0014[] = {
#embed "../../sql/0014_settings.sql" suffix(, 0)
};

static const char sql_0015[] = {
#embed "../../sql/0015_words_alone.sql" suffix(, 0)
};

static const struct hermes_migration migrations[] = {
    {1, "catalogue", sql_0001, sizeof(sql_0001) - 1},
    {2, "operators", sql_0002, sizeof(sql_0002) - 1},
    {3, "schema_versions", sql_0003, sizeof(sql_0003) - 1},
    {4, "indexes", sql_0004, sizeof(sql_0004) - 1},
    {5, "session_digests", sql_0005, sizeof(sql_0005) - 1},
    {6, "unset", sql_0006, sizeof(sql_0006) - 1},
    {7, "jobs", sql_0007, sizeof(sql_0007) - 1},
    {8, "hooks", sql_0008, sizeof(sql_0008) - 1},
    {9, "rate_limits", sql_0009, sizeof(sql_0009) - 1},
    {10, "mailed_tokens", sql_0010, sizeof(sql_0010) - 1},
    {11, "session_ends", sql_0011, sizeof(sql_0011) - 1},
    {12, "logins", sql_0012, sizeof(sql_0012) - 1},
    {13, "words_and_presence", sql_0013, sizeof(sql_0013) - 1},
    {14, "settings", sql_0014, sizeof(sql_0014) - 1},
    {15, "words_alone", sql_0015, sizeof(sql_0015) - 1},
};

const struct hermes_migration *hermes_migration_at(size_t index) {
    return index < sizeof(migrations) / sizeof(migrations[0]) ? &migrations[index] : NULL;
}
