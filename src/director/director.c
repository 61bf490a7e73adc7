/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/director.h"

static uint16_t port_index(const struct director *director, uint16_t id)
{
	uint16_t i = 0;

	while (i < director->port_count && director->ports[i].id != id)
		i++;
	return i;
}

const struct port *director_port(const struct director *director, uint16_t id)
{
	return &director->ports[port_index(director, id)];
}

const struct port *director_exception_port(const struct director *director, uint16_t id)
{
	return director->exception_count ? &director->exceptions[port_index(director, id)] : NULL;
}
