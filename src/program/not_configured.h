/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon does if nobody has written its configuration file yet. */
#pragma once

/* The exit code of a daemon whose configuration file does not exist. Its unit does not restart it then, because another
 * start cannot help. systemctl(1) shows this code as NOTCONFIGURED. */
#define EXIT_NOT_CONFIGURED 6
