/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_device.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>

#include "program/log.h"

/* Writes the name of the kernel's driver of a PCI device, such as "vfio-pci". "": it has none, or it is no
 * PCI device. */
static void read_kernel_driver(const struct port *port, char driver[PORT_KERNEL_DRIVER_SIZE])
{
	const char *domain = strchr(port->name, ':') == strrchr(port->name, ':') ? "0000:" : "";
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t size;

	driver[0] = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%s/driver", domain, port->name);
	size = readlink(path, target, sizeof(target) - 1);
	if (size < 0)
		return;
	target[size] = '\0';
	slash = strrchr(target, '/');
	snprintf(driver, PORT_KERNEL_DRIVER_SIZE, "%.*s", PORT_KERNEL_DRIVER_SIZE - 1, slash ? slash + 1 : target);
}

void port_device_note(struct port *port)
{
	const struct rte_devargs *arguments = rte_dev_devargs(port->info.device);
	const char *name = rte_dev_name(port->info.device);
	bool has_arguments = arguments && arguments->args && arguments->args[0];

	snprintf(port->device_name, sizeof(port->device_name), "%s", name);
	snprintf(port->device_arguments, sizeof(port->device_arguments), "%s%s%s", name, has_arguments ? "," : "",
		has_arguments ? arguments->args : "");
	read_kernel_driver(port, port->kernel_driver);
}

static bool is_used(const struct ports *ports, const struct rte_device *device)
{
	for (uint16_t i = 0; i < ports->count; i++)
		if (ports->list[i].info.device == device)
			return true;
	return false;
}

void port_device_release(struct ports *ports, struct port *port)
{
	struct rte_device *device = port->info.device;
	int error;

	port_close(port);
	port->info.device = NULL;
	if (is_used(ports, device))
		return;
	error = rte_dev_remove(device);
	if (error)
		log_error("port %u (%s): DPDK cannot release the device: %s: the kernel may wait for it until the director stops",
			port->id, port->name, strerror(-error));
}

bool port_device_is_back(const struct port *port)
{
	char driver[PORT_KERNEL_DRIVER_SIZE];

	read_kernel_driver(port, driver);
	return strcmp(driver, port->kernel_driver) == 0;
}

/* Checks that a device which has just been attached can take the place of the one before. */
static int check(struct port *port)
{
	struct rte_eth_dev_info info;
	uint16_t id;
	int error = rte_eth_dev_get_port_by_name(port->name, &id);

	if (!error)
		error = rte_eth_dev_info_get(id, &info);
	if (error) {
		log_error("port %u (%s): the device is back, but DPDK made no port of it: %s", port->id, port->name,
			strerror(-error));
		return error;
	}
	port->info.device = info.device;
	if (id != port->id) {
		log_warning("port %u (%s): the device is back, but must wait until those of ports with lower numbers are",
			port->id, port->name);
		return -EAGAIN;
	}
	if (strcmp(info.driver_name, port->info.driver_name) == 0) {
		port->info = info; /* the kernel's interface may have another index, and another card other limits */
		return 0;
	}
	log_error("port %u (%s): another device is there now: its driver is %s instead of %s: restart the director to use it",
		port->id, port->name, info.driver_name, port->info.driver_name);
	return -ENODEV;
}

int port_device_attach(struct port *port)
{
	int error = rte_dev_probe(port->device_arguments);

	if (error) {
		log_error("port %u (%s): the device is back, but DPDK cannot attach it: %s", port->id, port->name,
			strerror(-error));
		return error;
	}
	error = check(port);
	if (error && port->info.device)
		rte_dev_remove(port->info.device);
	if (error)
		port->info.device = NULL;
	return error;
}
