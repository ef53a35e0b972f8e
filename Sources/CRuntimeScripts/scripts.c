// The scripts of Sources/JavaScript/Runtime within the program. A new one needs two entries here; a test says so where
// they are missing.
#include "CRuntimeScripts.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char boot_js[] = {
#embed "../JavaScript/Runtime/boot.js" suffix(, 0)
};
static const char calls_js[] = {
#embed "../JavaScript/Runtime/calls.js" suffix(, 0)
};
static const char check_js[] = {
#embed "../JavaScript/Runtime/check.js" suffix(, 0)
};
static const char esmodule_js[] = {
#embed "../JavaScript/Runtime/esmodule.js" suffix(, 0)
};
static const char globals_js[] = {
#embed "../JavaScript/Runtime/globals.js" suffix(, 0)
};
static const char modules_js[] = {
#embed "../JavaScript/Runtime/modules.js" suffix(, 0)
};
static const char node_assert_js[] = {
#embed "../JavaScript/Runtime/node/assert.js" suffix(, 0)
};
static const char node_buffer_js[] = {
#embed "../JavaScript/Runtime/node/buffer.js" suffix(, 0)
};
static const char node_crypto_js[] = {
#embed "../JavaScript/Runtime/node/crypto.js" suffix(, 0)
};
static const char node_events_js[] = {
#embed "../JavaScript/Runtime/node/events.js" suffix(, 0)
};
static const char node_fs_js[] = {
#embed "../JavaScript/Runtime/node/fs.js" suffix(, 0)
};
static const char node_http_js[] = {
#embed "../JavaScript/Runtime/node/http.js" suffix(, 0)
};
static const char node_os_js[] = {
#embed "../JavaScript/Runtime/node/os.js" suffix(, 0)
};
static const char node_path_js[] = {
#embed "../JavaScript/Runtime/node/path.js" suffix(, 0)
};
static const char node_querystring_js[] = {
#embed "../JavaScript/Runtime/node/querystring.js" suffix(, 0)
};
static const char node_stream_js[] = {
#embed "../JavaScript/Runtime/node/stream.js" suffix(, 0)
};
static const char node_stubs_js[] = {
#embed "../JavaScript/Runtime/node/stubs.js" suffix(, 0)
};
static const char node_timers_js[] = {
#embed "../JavaScript/Runtime/node/timers.js" suffix(, 0)
};
static const char node_url_js[] = {
#embed "../JavaScript/Runtime/node/url.js" suffix(, 0)
};
static const char node_util_js[] = {
#embed "../JavaScript/Runtime/node/util.js" suffix(, 0)
};
static const char parse_accounts_js[] = {
#embed "../JavaScript/Runtime/parse/accounts.js" suffix(, 0)
};
static const char parse_cloud_js[] = {
#embed "../JavaScript/Runtime/parse/cloud.js" suffix(, 0)
};
static const char parse_config_js[] = {
#embed "../JavaScript/Runtime/parse/config.js" suffix(, 0)
};
static const char parse_encode_js[] = {
#embed "../JavaScript/Runtime/parse/encode.js" suffix(, 0)
};
static const char parse_error_js[] = {
#embed "../JavaScript/Runtime/parse/error.js" suffix(, 0)
};
static const char parse_file_js[] = {
#embed "../JavaScript/Runtime/parse/file.js" suffix(, 0)
};
static const char parse_index_js[] = {
#embed "../JavaScript/Runtime/parse/index.js" suffix(, 0)
};
static const char parse_object_js[] = {
#embed "../JavaScript/Runtime/parse/object.js" suffix(, 0)
};
static const char parse_ops_js[] = {
#embed "../JavaScript/Runtime/parse/ops.js" suffix(, 0)
};
static const char parse_query_js[] = {
#embed "../JavaScript/Runtime/parse/query.js" suffix(, 0)
};
static const char parse_relation_js[] = {
#embed "../JavaScript/Runtime/parse/relation.js" suffix(, 0)
};
static const char parse_rest_js[] = {
#embed "../JavaScript/Runtime/parse/rest.js" suffix(, 0)
};
static const char parse_schema_js[] = {
#embed "../JavaScript/Runtime/parse/schema.js" suffix(, 0)
};
static const char parse_storage_js[] = {
#embed "../JavaScript/Runtime/parse/storage.js" suffix(, 0)
};
static const char parse_user_js[] = {
#embed "../JavaScript/Runtime/parse/user.js" suffix(, 0)
};
static const char parse_validators_js[] = {
#embed "../JavaScript/Runtime/parse/validators.js" suffix(, 0)
};
static const char parse_values_js[] = {
#embed "../JavaScript/Runtime/parse/values.js" suffix(, 0)
};
static const char source_js[] = {
#embed "../JavaScript/Runtime/source.js" suffix(, 0)
};
static const char turn_js[] = {
#embed "../JavaScript/Runtime/turn.js" suffix(, 0)
};
static const char web_abort_js[] = {
#embed "../JavaScript/Runtime/web/abort.js" suffix(, 0)
};
static const char web_clone_js[] = {
#embed "../JavaScript/Runtime/web/clone.js" suffix(, 0)
};
static const char web_encoding_js[] = {
#embed "../JavaScript/Runtime/web/encoding.js" suffix(, 0)
};
static const char web_fetch_js[] = {
#embed "../JavaScript/Runtime/web/fetch.js" suffix(, 0)
};
static const char web_url_js[] = {
#embed "../JavaScript/Runtime/web/url.js" suffix(, 0)
};

static const struct hermes_runtime_script scripts[] = {
    {"boot", boot_js},
    {"calls", calls_js},
    {"check", check_js},
    {"esmodule", esmodule_js},
    {"globals", globals_js},
    {"modules", modules_js},
    {"node/assert", node_assert_js},
    {"node/buffer", node_buffer_js},
    {"node/crypto", node_crypto_js},
    {"node/events", node_events_js},
    {"node/fs", node_fs_js},
    {"node/http", node_http_js},
    {"node/os", node_os_js},
    {"node/path", node_path_js},
    {"node/querystring", node_querystring_js},
    {"node/stream", node_stream_js},
    {"node/stubs", node_stubs_js},
    {"node/timers", node_timers_js},
    {"node/url", node_url_js},
    {"node/util", node_util_js},
    {"parse/accounts", parse_accounts_js},
    {"parse/cloud", parse_cloud_js},
    {"parse/config", parse_config_js},
    {"parse/encode", parse_encode_js},
    {"parse/error", parse_error_js},
    {"parse/file", parse_file_js},
    {"parse", parse_index_js},
    {"parse/object", parse_object_js},
    {"parse/ops", parse_ops_js},
    {"parse/query", parse_query_js},
    {"parse/relation", parse_relation_js},
    {"parse/rest", parse_rest_js},
    {"parse/schema", parse_schema_js},
    {"parse/storage", parse_storage_js},
    {"parse/user", parse_user_js},
    {"parse/validators", parse_validators_js},
    {"parse/values", parse_values_js},
    {"source", source_js},
    {"turn", turn_js},
    {"web/abort", web_abort_js},
    {"web/clone", web_clone_js},
    {"web/encoding", web_encoding_js},
    {"web/fetch", web_fetch_js},
    {"web/url", web_url_js},
};

const struct hermes_runtime_script *hermes_runtime_script_at(size_t index) {
    return index < sizeof(scripts) / sizeof(scripts[0]) ? &scripts[index] : NULL;
}
