#include "CForumFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char style[] = {
#embed "../Forum/Web/Files/forum.css" suffix(, 0)
};
static const char script[] = {
#embed "../Forum/Web/Files/forum.js" suffix(, 0)
};
static const char icon[] = {
#embed "../Forum/Web/Files/forum.svg" suffix(, 0)
};

const char *hermes_forum_style(void) { return style; }
const char *hermes_forum_script(void) { return script; }
const char *hermes_forum_icon(void) { return icon; }
