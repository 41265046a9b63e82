/* SPDX-License-Identifier: MIT
 *
 * One thread beside the main one, for reading and writing that the main thread need not wait for. It has one task at a
 * time.
 */
#ifndef APPS_SUPPORT_BACKGROUND_H
#define APPS_SUPPORT_BACKGROUND_H

typedef struct background background;

background *background_open(void);

/* Waits for the task before, and begins task(arg). If no thread can be started, or b is NULL, the task is done when
 * this returns. */
void background_start(background *b, void (*task)(void *arg), void *arg);

/* Waits for the task, if there is one. If it died (die.h), the program ends here, with its message. */
void background_wait(background *b);

/* Waits, and frees; nothing is done for NULL. */
void background_close(background *b);

#endif
