// What the room Terminal asks of ncursesw: its macros and globals as functions.
#pragma once
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { HERMES_KEY_PASTE = 0x5000, HERMES_KEY_PASTE_END = 0x5001 };

// Returns 0 where there is no terminal that ncurses knows.
static inline int hermes_curses_start(int colours) {
    if (!setlocale(LC_ALL, "") || MB_CUR_MAX < 4) setlocale(LC_ALL, "C.UTF-8");
    if (!newterm(NULL, stdout, stdin)) return 0;
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    scrollok(stdscr, FALSE);
    define_key("\033[200~", HERMES_KEY_PASTE);
    define_key("\033[201~", HERMES_KEY_PASTE_END);
    if (colours && has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_CYAN, -1);
        init_pair(2, COLOR_YELLOW, -1);
        init_pair(3, COLOR_RED, -1);
    }
    return 1;
}

static inline void hermes_curses_stop(void) {
    if (!isendwin()) endwin();
}

static inline void hermes_curses_resume(void) {
    reset_prog_mode();
    clearok(stdscr, TRUE);
    refresh();
}

static inline void hermes_curses_suspend(void) {
    def_prog_mode();
    endwin();
}

static inline void hermes_curses_resize(int lines, int columns) {
    resizeterm(lines, columns);
    clearok(stdscr, TRUE);
}

static inline int hermes_curses_lines(void) { return LINES; }
static inline int hermes_curses_columns(void) { return COLS; }
static inline void hermes_curses_erase(void) { erase(); }

static inline void hermes_curses_show(int line, int column) {
    if (line < 0) {
        curs_set(0);
    } else {
        curs_set(1);
        move(line, column);
    }
    refresh();
}

// Puts a text of one line at a cell: each character with the marks on it into a cell of its own.
static inline void hermes_curses_put(int line, int column, const char *text, int bold, int reverse, int dim, int underlined, int colour) {
    attr_t attributes = 0;
    if (bold) attributes |= A_BOLD;
    if (reverse) attributes |= A_REVERSE;
    if (dim) attributes |= A_DIM;
    if (underlined) attributes |= A_UNDERLINE;
    wchar_t wide[64];
    size_t count = mbstowcs(wide, text, 63);
    if (count == (size_t)-1) return;
    wide[count] = 0;
    size_t index = 0;
    while (index < count) {
        wchar_t cell[CCHARW_MAX + 1] = {0};
        int used = 0;
        int width = wcwidth(wide[index]);
        cell[used++] = wide[index++];
        while (index < count && wcwidth(wide[index]) == 0 && used < CCHARW_MAX) cell[used++] = wide[index++];
        if (width < 1) continue;
        cchar_t character;
        if (setcchar(&character, cell, attributes, (short)colour, NULL) == OK) mvadd_wch(line, column, &character);
        column += width;
    }
}

// 0: none; 1: a character; 2: a key of ncurses' (KEY_DOWN, …).
static inline int hermes_curses_key(unsigned int *key) {
    wint_t found = 0;
    int result = get_wch(&found);
    *key = (unsigned int)found;
    return result == OK ? 1 : result == KEY_CODE_YES ? 2 : 0;
}
