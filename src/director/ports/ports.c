/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/ports.h"

const struct port *ports_find(const struct ports *ports, uint16_t id)
{
	const struct port *port = ports->list;

	while (port < ports->list + ports->count && port->id != id)
		port++;
	return port;
}

const struct port *ports_exception(const struct ports *ports, uint16_t id)
{
	return ports->exception_count ? &ports->exceptions[ports_find(ports, id) - ports->list] : NULL;
}
