/* SPDX-License-Identifier: MIT
 *
 * The access rights of a file that takes another's place: those of the old file or fewer, never more, at any instant.
 *
 *   mode, POSIX ACL   as they are; bits beyond rwx (set-user-ID and the like) are dropped
 *   group             kept if the system lets us, else group and others get what both of them had, and an ACL becomes
 *                     the owner's rights alone
 *   an ACL that cannot be read or set                     the owner's rights alone
 *   owner             kept if the system lets us, last of all, since only owners may change the rest; else group and
 *                     others get no more than the old owner had
 *   user.* attributes are copied as far as the system lets us; other attributes (capabilities, labels) are not
 */
#ifndef APPS_SUPPORT_OUTPUT_ACCESS_H
#define APPS_SUPPORT_OUTPUT_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Gives the file open as fd all but the owner from the file `old`, open for reading or -1, whose status is `st`.
 * Returns false with errno if the system does not let it be as narrow. */
bool access_copy(int fd, int old, const struct stat *st);

/* Gives it the owner. Nothing else can be changed then by a process that is not the owner. */
bool access_give_owner(int fd, const struct stat *st);

#endif
