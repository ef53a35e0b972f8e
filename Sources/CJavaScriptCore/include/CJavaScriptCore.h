// JavaScriptCore's C API, as far as Hermes uses it, found with dlopen when cloud code in JavaScript is asked for: a
// server without such code needs neither the library nor its headers. Each function is JavaScriptCore's of the same
// name (JSEvaluateScript is hermes_js_evaluate_script), with its rules: a context, its values and its group belong to
// the thread that uses them; a call into the engine runs the promises' reactions before it returns.
#ifndef CJAVASCRIPTCORE_H
#define CJAVASCRIPTCORE_H

#include <stdbool.h>
#include <stddef.h>

typedef const struct hermes_js_opaque_group *hermes_js_group;
typedef struct hermes_js_opaque_context *hermes_js_context;
typedef const struct hermes_js_opaque_value *hermes_js_value;
typedef struct hermes_js_opaque_string *hermes_js_string;
typedef struct hermes_js_opaque_class *hermes_js_class;

/// What a function of the host does: `data` is what hermes_js_make_host_function was given.
typedef hermes_js_value (*hermes_js_host_callback)(
    void *data, hermes_js_context context, size_t count, const hermes_js_value *arguments, hermes_js_value *exception);
/// Asked from time to time while a script runs; true ends it.
typedef bool (*hermes_js_should_end)(hermes_js_context context, void *data);

/// Loads the library, once. NULL, or a sentence that says what is missing. Callable from any thread.
const char *hermes_js_load(void);

hermes_js_group hermes_js_group_create(void);
void hermes_js_group_release(hermes_js_group group);
/// Exported by the library but not in its public headers. Counts the thread's processor time, from each entry into the
/// engine. Once `callback` has answered false it is not called again in this turn, unless it has set the limit anew.
void hermes_js_group_set_limit(
    hermes_js_group group, double seconds, hermes_js_should_end callback, void *data);

hermes_js_context hermes_js_context_create(hermes_js_group group);
void hermes_js_context_release(hermes_js_context context);
hermes_js_value hermes_js_global_object(hermes_js_context context);
void hermes_js_set_unhandled_rejection_callback(
    hermes_js_context context, hermes_js_value function, hermes_js_value *exception);
/// Exported by the library but not in its public headers: an object of figures, `heapSize` among them.
hermes_js_value hermes_js_memory_statistics(hermes_js_context context);
/// Exported by the library but not in its public headers: where the script is, one line a call.
hermes_js_string hermes_js_backtrace(hermes_js_context context, unsigned depth);
/// Collects garbage before it returns.
void hermes_js_collect(hermes_js_context context);

hermes_js_value hermes_js_evaluate_script(
    hermes_js_context context, hermes_js_string script, hermes_js_string file, int first_line,
    hermes_js_value *exception);

hermes_js_string hermes_js_string_create(const char *text);
void hermes_js_string_release(hermes_js_string string);
size_t hermes_js_string_max_size(hermes_js_string string);
/// Copies with a NUL at the end; answers the bytes written, the NUL among them.
size_t hermes_js_string_copy(hermes_js_string string, char *buffer, size_t size);

hermes_js_value hermes_js_make_undefined(hermes_js_context context);
hermes_js_value hermes_js_make_boolean(hermes_js_context context, bool boolean);
hermes_js_value hermes_js_make_number(hermes_js_context context, double number);
hermes_js_value hermes_js_make_string(hermes_js_context context, hermes_js_string string);
/// NULL when the text is not JSON.
hermes_js_value hermes_js_make_from_json(hermes_js_context context, hermes_js_string text);
/// A function that calls `callback` with `data`, which must outlive the context.
hermes_js_value hermes_js_make_host_function(
    hermes_js_context context, hermes_js_host_callback callback, void *data);
hermes_js_value hermes_js_make_error(
    hermes_js_context context, size_t count, const hermes_js_value *arguments, hermes_js_value *exception);
/// A Uint8Array of `length` zeros.
hermes_js_value hermes_js_make_bytes(hermes_js_context context, size_t length, hermes_js_value *exception);

bool hermes_js_is_undefined(hermes_js_context context, hermes_js_value value);
bool hermes_js_is_null(hermes_js_context context, hermes_js_value value);
bool hermes_js_is_string(hermes_js_context context, hermes_js_value value);
bool hermes_js_is_object(hermes_js_context context, hermes_js_value value);
/// Whether the value is a typed array of any kind.
bool hermes_js_is_typed_array(hermes_js_context context, hermes_js_value value);
bool hermes_js_to_boolean(hermes_js_context context, hermes_js_value value);
double hermes_js_to_number(hermes_js_context context, hermes_js_value value, hermes_js_value *exception);
hermes_js_string hermes_js_to_string(hermes_js_context context, hermes_js_value value, hermes_js_value *exception);
void hermes_js_protect(hermes_js_context context, hermes_js_value value);
void hermes_js_unprotect(hermes_js_context context, hermes_js_value value);

hermes_js_value hermes_js_get_property(
    hermes_js_context context, hermes_js_value object, hermes_js_string name, hermes_js_value *exception);
void hermes_js_set_property(
    hermes_js_context context, hermes_js_value object, hermes_js_string name, hermes_js_value value,
    hermes_js_value *exception);
hermes_js_value hermes_js_call(
    hermes_js_context context, hermes_js_value function, size_t count, const hermes_js_value *arguments,
    hermes_js_value *exception);

/// The bytes that a typed array shows; valid until the engine is entered again. NULL of an empty one.
unsigned char *hermes_js_typed_array_bytes(hermes_js_context context, hermes_js_value array, size_t *length);

#endif
