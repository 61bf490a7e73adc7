/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon does if nobody has written its configuration file yet. */
#ifndef GLB_PROGRAM_NOT_CONFIGURED_H
#define GLB_PROGRAM_NOT_CONFIGURED_H

/* The exit code of a daemon whose configuration file does not exist. Its unit does not restart it then, because another
 * start cannot help. systemctl(1) shows this code as NOTCONFIGURED. */
#define EXIT_NOT_CONFIGURED 6

#endif
