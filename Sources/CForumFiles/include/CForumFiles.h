#ifndef CFORUMFILES_H
#define CFORUMFILES_H

/// The files of Sources/Forum/Web/Files within the program.
const char *hermes_forum_style(void);
const char *hermes_forum_script(void);
const char *hermes_forum_icon(void);

#endif
