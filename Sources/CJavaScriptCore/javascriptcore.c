#include "CJavaScriptCore.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libjavascriptcoregtk-4.1.so.0"
#define PACKAGE "libjavascriptcoregtk-4.1-0"

typedef hermes_js_value (*call_as_function)(
    hermes_js_context, hermes_js_value function, hermes_js_value this_object, size_t count,
    const hermes_js_value *arguments, hermes_js_value *exception);

// JavaScriptCore's JSClassDefinition, version 0. What Hermes leaves empty is a plain pointer here.
struct class_definition {
    int version;
    unsigned attributes;
    const char *name;
    void *parent, *values, *functions, *initialize;
    void (*finalize)(hermes_js_value object);
    void *has_property, *get_property, *set_property, *delete_property, *property_names;
    call_as_function call;
    void *construct, *has_instance, *convert;
};

enum { no_typed_array = 10, uint8_array = 3 };

#define FUNCTIONS(X) \
    X(jsc_options_set_boolean, int, (const char *option, int value)) \
    X(JSContextGroupCreate, hermes_js_group, (void)) \
    X(JSContextGroupRelease, void, (hermes_js_group)) \
    X(JSContextGroupSetExecutionTimeLimit, void, (hermes_js_group, double, hermes_js_should_end, void *)) \
    X(JSGlobalContextCreateInGroup, hermes_js_context, (hermes_js_group, hermes_js_class)) \
    X(JSGlobalContextRelease, void, (hermes_js_context)) \
    X(JSContextGetGlobalObject, hermes_js_value, (hermes_js_context)) \
    X(JSGlobalContextSetUnhandledRejectionCallback, void, (hermes_js_context, hermes_js_value, hermes_js_value *)) \
    X(JSGetMemoryUsageStatistics, hermes_js_value, (hermes_js_context)) \
    X(JSContextCreateBacktrace, hermes_js_string, (hermes_js_context, unsigned)) \
    X(JSSynchronousGarbageCollectForDebugging, void, (hermes_js_context)) \
    X(JSEvaluateScript, hermes_js_value, \
        (hermes_js_context, hermes_js_string, hermes_js_value, hermes_js_string, int, hermes_js_value *)) \
    X(JSStringCreateWithUTF8CString, hermes_js_string, (const char *)) \
    X(JSStringRelease, void, (hermes_js_string)) \
    X(JSStringGetMaximumUTF8CStringSize, size_t, (hermes_js_string)) \
    X(JSStringGetUTF8CString, size_t, (hermes_js_string, char *, size_t)) \
    X(JSValueMakeUndefined, hermes_js_value, (hermes_js_context)) \
    X(JSValueMakeBoolean, hermes_js_value, (hermes_js_context, bool)) \
    X(JSValueMakeNumber, hermes_js_value, (hermes_js_context, double)) \
    X(JSValueMakeString, hermes_js_value, (hermes_js_context, hermes_js_string)) \
    X(JSValueMakeFromJSONString, hermes_js_value, (hermes_js_context, hermes_js_string)) \
    X(JSClassCreate, hermes_js_class, (const struct class_definition *)) \
    X(JSClassRelease, void, (hermes_js_class)) \
    X(JSObjectMake, hermes_js_value, (hermes_js_context, hermes_js_class, void *)) \
    X(JSObjectGetPrivate, void *, (hermes_js_value)) \
    X(JSObjectMakeError, hermes_js_value, \
        (hermes_js_context, size_t, const hermes_js_value *, hermes_js_value *)) \
    X(JSObjectMakeTypedArray, hermes_js_value, (hermes_js_context, int, size_t, hermes_js_value *)) \
    X(JSValueIsUndefined, bool, (hermes_js_context, hermes_js_value)) \
    X(JSValueIsNull, bool, (hermes_js_context, hermes_js_value)) \
    X(JSValueIsString, bool, (hermes_js_context, hermes_js_value)) \
    X(JSValueIsObject, bool, (hermes_js_context, hermes_js_value)) \
    X(JSValueGetTypedArrayType, int, (hermes_js_context, hermes_js_value, hermes_js_value *)) \
    X(JSValueToBoolean, bool, (hermes_js_context, hermes_js_value)) \
    X(JSValueToNumber, double, (hermes_js_context, hermes_js_value, hermes_js_value *)) \
    X(JSValueToStringCopy, hermes_js_string, (hermes_js_context, hermes_js_value, hermes_js_value *)) \
    X(JSValueProtect, void, (hermes_js_context, hermes_js_value)) \
    X(JSValueUnprotect, void, (hermes_js_context, hermes_js_value)) \
    X(JSObjectGetProperty, hermes_js_value, \
        (hermes_js_context, hermes_js_value, hermes_js_string, hermes_js_value *)) \
    X(JSObjectSetProperty, void, \
        (hermes_js_context, hermes_js_value, hermes_js_string, hermes_js_value, unsigned, hermes_js_value *)) \
    X(JSObjectCallAsFunction, hermes_js_value, \
        (hermes_js_context, hermes_js_value, hermes_js_value, size_t, const hermes_js_value *, hermes_js_value *)) \
    X(JSObjectGetTypedArrayBytesPtr, void *, (hermes_js_context, hermes_js_value, hermes_js_value *)) \
    X(JSObjectGetTypedArrayByteLength, size_t, (hermes_js_context, hermes_js_value, hermes_js_value *)) \
    X(JSObjectGetTypedArrayByteOffset, size_t, (hermes_js_context, hermes_js_value, hermes_js_value *))

static struct {
#define FIELD(name, result, parameters) result(*name) parameters;
    FUNCTIONS(FIELD)
#undef FIELD
} js;

static hermes_js_class host_function;
static char problem[512];

struct host_data {
    hermes_js_host_callback callback;
    void *data;
};

static hermes_js_value call_host(
    hermes_js_context context, hermes_js_value function, hermes_js_value this_object, size_t count,
    const hermes_js_value *arguments, hermes_js_value *exception) {
    (void)this_object;
    const struct host_data *host = js.JSObjectGetPrivate(function);
    return host->callback(host->data, context, count, arguments, exception);
}

static void free_host(hermes_js_value object) { free(js.JSObjectGetPrivate(object)); }

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, sizeof problem,
            "cloud code in JavaScript needs JavaScriptCore: apt-get install " PACKAGE " (%s)", dlerror());
        return;
    }
#define FIND(name, result, parameters) \
    js.name = (result(*) parameters)dlsym(library, #name); \
    if (!js.name) { \
        snprintf(problem, sizeof problem, \
            LIBRARY " lacks %s: this version of JavaScriptCore is not known to Hermes; apt-get install " PACKAGE, #name); \
        return; \
    }
    FUNCTIONS(FIND)
#undef FIND
    // The watchdog would otherwise interrupt compiled code with signals; a check at each loop costs next to nothing.
    // Told before the first context. Not by setenv: other threads run by now, and libpq and libcurl call getenv on them.
    if (!getenv("JSC_usePollingTraps")) js.jsc_options_set_boolean("usePollingTraps", 1);
    struct class_definition definition = {.name = "HostFunction", .finalize = free_host, .call = call_host};
    host_function = js.JSClassCreate(&definition);
}

const char *hermes_js_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return problem[0] ? problem : NULL;
}

hermes_js_group hermes_js_group_create(void) { return js.JSContextGroupCreate(); }
void hermes_js_group_release(hermes_js_group group) { js.JSContextGroupRelease(group); }
void hermes_js_group_set_limit(hermes_js_group group, double seconds, hermes_js_should_end callback, void *data) {
    js.JSContextGroupSetExecutionTimeLimit(group, seconds, callback, data);
}

hermes_js_context hermes_js_context_create(hermes_js_group group) {
    return js.JSGlobalContextCreateInGroup(group, NULL);
}
void hermes_js_context_release(hermes_js_context context) { js.JSGlobalContextRelease(context); }
hermes_js_value hermes_js_global_object(hermes_js_context context) { return js.JSContextGetGlobalObject(context); }
void hermes_js_set_unhandled_rejection_callback(
    hermes_js_context context, hermes_js_value function, hermes_js_value *exception) {
    js.JSGlobalContextSetUnhandledRejectionCallback(context, function, exception);
}
hermes_js_value hermes_js_memory_statistics(hermes_js_context context) {
    return js.JSGetMemoryUsageStatistics(context);
}
hermes_js_string hermes_js_backtrace(hermes_js_context context, unsigned depth) {
    return js.JSContextCreateBacktrace(context, depth);
}
void hermes_js_collect(hermes_js_context context) { js.JSSynchronousGarbageCollectForDebugging(context); }

hermes_js_value hermes_js_evaluate_script(
    hermes_js_context context, hermes_js_string script, hermes_js_string file, int first_line,
    hermes_js_value *exception) {
    return js.JSEvaluateScript(context, script, NULL, file, first_line, exception);
}

hermes_js_string hermes_js_string_create(const char *text) { return js.JSStringCreateWithUTF8CString(text); }
void hermes_js_string_release(hermes_js_string string) { js.JSStringRelease(string); }
size_t hermes_js_string_max_size(hermes_js_string string) { return js.JSStringGetMaximumUTF8CStringSize(string); }
size_t hermes_js_string_copy(hermes_js_string string, char *buffer, size_t size) {
    return js.JSStringGetUTF8CString(string, buffer, size);
}

hermes_js_value hermes_js_make_undefined(hermes_js_context context) { return js.JSValueMakeUndefined(context); }
hermes_js_value hermes_js_make_boolean(hermes_js_context context, bool boolean) {
    return js.JSValueMakeBoolean(context, boolean);
}
hermes_js_value hermes_js_make_number(hermes_js_context context, double number) {
    return js.JSValueMakeNumber(context, number);
}
hermes_js_value hermes_js_make_string(hermes_js_context context, hermes_js_string string) {
    return js.JSValueMakeString(context, string);
}
hermes_js_value hermes_js_make_from_json(hermes_js_context context, hermes_js_string text) {
    return js.JSValueMakeFromJSONString(context, text);
}
hermes_js_value hermes_js_make_host_function(
    hermes_js_context context, hermes_js_host_callback callback, void *data) {
    struct host_data *host = malloc(sizeof *host);
    if (!host) return js.JSValueMakeUndefined(context);
    *host = (struct host_data){callback, data};
    return js.JSObjectMake(context, host_function, host);
}
hermes_js_value hermes_js_make_error(
    hermes_js_context context, size_t count, const hermes_js_value *arguments, hermes_js_value *exception) {
    return js.JSObjectMakeError(context, count, arguments, exception);
}
hermes_js_value hermes_js_make_bytes(hermes_js_context context, size_t length, hermes_js_value *exception) {
    return js.JSObjectMakeTypedArray(context, uint8_array, length, exception);
}

bool hermes_js_is_undefined(hermes_js_context context, hermes_js_value value) {
    return js.JSValueIsUndefined(context, value);
}
bool hermes_js_is_null(hermes_js_context context, hermes_js_value value) { return js.JSValueIsNull(context, value); }
bool hermes_js_is_string(hermes_js_context context, hermes_js_value value) {
    return js.JSValueIsString(context, value);
}
bool hermes_js_is_object(hermes_js_context context, hermes_js_value value) {
    return js.JSValueIsObject(context, value);
}
bool hermes_js_is_typed_array(hermes_js_context context, hermes_js_value value) {
    if (!js.JSValueIsObject(context, value)) return false;
    int type = js.JSValueGetTypedArrayType(context, value, NULL);
    // Below it are the kinds of views, at it are buffers.
    return type < no_typed_array - 1 || type > no_typed_array;
}
bool hermes_js_to_boolean(hermes_js_context context, hermes_js_value value) {
    return js.JSValueToBoolean(context, value);
}
double hermes_js_to_number(hermes_js_context context, hermes_js_value value, hermes_js_value *exception) {
    return js.JSValueToNumber(context, value, exception);
}
hermes_js_string hermes_js_to_string(hermes_js_context context, hermes_js_value value, hermes_js_value *exception) {
    return js.JSValueToStringCopy(context, value, exception);
}
void hermes_js_protect(hermes_js_context context, hermes_js_value value) { js.JSValueProtect(context, value); }
void hermes_js_unprotect(hermes_js_context context, hermes_js_value value) { js.JSValueUnprotect(context, value); }

hermes_js_value hermes_js_get_property(
    hermes_js_context context, hermes_js_value object, hermes_js_string name, hermes_js_value *exception) {
    return js.JSObjectGetProperty(context, object, name, exception);
}
void hermes_js_set_property(
    hermes_js_context context, hermes_js_value object, hermes_js_string name, hermes_js_value value,
    hermes_js_value *exception) {
    js.JSObjectSetProperty(context, object, name, value, 0, exception);
}
hermes_js_value hermes_js_call(
    hermes_js_context context, hermes_js_value function, size_t count, const hermes_js_value *arguments,
    hermes_js_value *exception) {
    return js.JSObjectCallAsFunction(context, function, NULL, count, arguments, exception);
}

unsigned char *hermes_js_typed_array_bytes(hermes_js_context context, hermes_js_value array, size_t *length) {
    *length = js.JSObjectGetTypedArrayByteLength(context, array, NULL);
    unsigned char *start = js.JSObjectGetTypedArrayBytesPtr(context, array, NULL);
    // The pointer is to the start of the view's buffer.
    return start ? start + js.JSObjectGetTypedArrayByteOffset(context, array, NULL) : NULL;
}
