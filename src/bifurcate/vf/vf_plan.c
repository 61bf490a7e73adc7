/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bifurcate/vf/vf_rules.h"
#include "common/array.h"

#define DEVICE "/sys/bus/pci/devices/%s/"
#define MAC    "%02x:%02x:%02x:%02x:%02x:%02x"

#define MAC_OF(mac) (mac)[0], (mac)[1], (mac)[2], (mac)[3], (mac)[4], (mac)[5]

static const char *const names[VF_PROPERTIES] = {
	[VF_LINK] = "link",
	[VF_NUM_VFS] = "num_vfs",
	[VF_ESWITCH] = "eswitch",
	[VF_MAC] = "mac",
	[VF_VLAN] = "vlan",
	[VF_SPOOF_CHECK] = "spoof_check",
	[VF_TRUST] = "trust",
	[VF_BINDING] = "driver",
	[VF_RULES] = "rules",
};

const char *vf_plan_name(enum vf_property property)
{
	return names[property];
}

char *vf_plan_differs(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

void vf_plan_add(struct vf_plan *plan, enum vf_property property, char *differs, const char *format, ...)
{
	struct vf_step *step = array_append(&plan->steps, &plan->count, sizeof(*step));
	va_list args;

	if (!step)
		abort();
	*step = (struct vf_step){.property = property, .differs = differs};
	va_start(args, format);
	if (vasprintf(&step->command, format, args) < 0)
		abort();
	va_end(args);
}

void vf_plan_free(struct vf_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->steps[i].differs);
		free(plan->steps[i].command);
	}
	free(plan->steps);
	*plan = (struct vf_plan){0};
}

const struct vf_step *vf_plan_find(const struct vf_plan *plan, enum vf_property property)
{
	const struct vf_step *found = NULL;

	for (size_t i = 0; i < plan->count; i++) {
		const struct vf_step *step = &plan->steps[i];

		if (step->property == property && (!found || (!found->differs && step->differs)))
			found = step;
	}
	return found;
}

/* Adds an error if a process has the VF open, because it would lose its card. Returns whether none has. */
static bool is_unused(const struct vf_user *user, const char *what, struct faults *faults)
{
	if (!user->pid)
		return true;
	faults_error(faults, user->vf, "%s (pid %d) uses this VF, and %s would take it away: stop that program first",
		user->name, (int)user->pid, what);
	return false;
}

/* Commands that remove all VFs of the PF. */
static bool plan_removal(
	const struct vf_state *state, bool force, const char *hint, struct vf_plan *plan, struct faults *faults)
{
	if (!is_unused(&state->user, "removing the VFs", faults) ||
		!is_unused(&state->other_user, "removing the VFs", faults))
		return false;
	if (!force) {
		faults_error(faults, state->pf, "it has %ld VF%s, %s", state->count, state->count == 1 ? "" : "s", hint);
		return false;
	}
	vf_plan_add(plan, VF_NUM_VFS, vf_plan_differs("%s", hint), "echo 0 > " DEVICE "sriov_numvfs", state->pf);
	return true;
}

unsigned vf_plan_count(const struct vf_conf *conf, const struct vf_state *state)
{
	if (conf->num_vfs)
		return conf->num_vfs;
	return state->count > (long)conf->vf ? (unsigned)state->count : conf->vf + 1;
}

/* ice wants the mode before there are VFs; mlx5 wants VFs without a driver. */
static bool must_remake(const struct vf_conf *conf, const struct vf_state *state)
{
	if (state->count != (long)vf_plan_count(conf, state))
		return true;
	if (conf->steering != VF_STEERING_RULES || state->eswitch != VF_ESWITCH_LEGACY)
		return false;
	if (strcmp(state->driver, "ice") == 0)
		return true;
	return strcmp(state->driver, VF_MLX5) == 0 && (*state->vf_driver || state->other_bound);
}

static bool plan_vfs(
	const struct vf_conf *conf, struct vf_state *state, bool force, struct vf_plan *plan, struct faults *faults)
{
	unsigned count = vf_plan_count(conf, state);
	bool quiet = count == 1 || strcmp(state->driver, VF_MLX5) == 0, autoprobe = state->autoprobe;
	char hint[256];

	if ((long)count > state->total) {
		faults_error(faults, state->pf,
			"it can have %ld VFs, and the configuration needs %u: lower num_vfs and vf", state->total, count);
		return false;
	}
	if (!must_remake(conf, state))
		return true;
	snprintf(hint, sizeof(hint),
		state->count == (long)count
			? "which switchdev mode does not allow: `apply --force` removes all VFs first, and makes them again"
			: "and the configuration needs %u: write num_vfs = %ld; (and vf), or `apply --force` removes all VFs first",
		count, state->count);
	if (state->count && !plan_removal(state, force, hint, plan, faults))
		return false;
	if (state->eswitch == VF_ESWITCH_LEGACY && strcmp(state->driver, "ice") == 0 &&
		conf->steering == VF_STEERING_RULES) {
		vf_plan_add(plan, VF_ESWITCH, vf_plan_differs("legacy instead of switchdev"),
			"devlink dev eswitch set pci/%s mode switchdev", state->pf);
		state->eswitch = VF_ESWITCH_SWITCHDEV;
	}
	/* The kernel's driver would make an interface of the VF, which udev renames and network managers configure. */
	if (quiet && autoprobe) {
		vf_plan_add(plan, VF_NUM_VFS, NULL, "echo 0 > " DEVICE "sriov_drivers_autoprobe", state->pf);
		autoprobe = false;
	}
	vf_plan_add(plan, VF_NUM_VFS, vf_plan_differs("%ld instead of %u", state->count, count),
		"echo %u > " DEVICE "sriov_numvfs", count, state->pf);
	plan->steps[plan->count - 1].replan = true;
	vf_state_predict(state, count, autoprobe);
	return true;
}

static const char *on_off(enum vf_switch value)
{
	return value == VF_ON ? "on" : "off";
}

static void plan_switch(const struct vf_state *state, unsigned vf, enum vf_property property, const char *word,
	enum vf_switch wanted, enum vf_switch now, struct vf_plan *plan)
{
	bool known = state->attributes.known;

	if (wanted == VF_UNSET || (known && now == wanted))
		return;
	vf_plan_add(plan, property,
		vf_plan_differs("%s instead of %s", !known || now == VF_UNSET ? "not known" : on_off(now), on_off(wanted)),
		"ip link set dev %s vf %u %s %s", state->interface, vf, word, on_off(wanted));
}

/* Two functions of a card with one MAC: the card gives their packets to either. */
static bool is_mac_free(const struct vf_conf *conf, const struct vf_state *state, struct faults *faults)
{
	if (state->pf_has_mac)
		faults_error(faults, "mac",
			MAC
			" is the MAC of %s itself, whose packets the VF would take: choose another one, such as 02:...",
			MAC_OF(conf->mac), state->interface);
	else if (state->mac_vf >= 0)
		faults_error(faults, "mac", MAC " is the MAC of VF %ld: choose another one, or write vf = %ld;",
			MAC_OF(conf->mac), state->mac_vf, state->mac_vf);
	else
		return true;
	return false;
}

static bool plan_attributes(
	const struct vf_conf *conf, const struct vf_state *state, struct vf_plan *plan, struct faults *faults)
{
	const struct vf_attributes *now = &state->attributes;
	bool mac = !now->known || memcmp(now->mac, conf->mac, sizeof(conf->mac)) != 0;
	bool vlan = now->known ? now->vlan != conf->vlan : conf->vlan != 0;

	if ((mac || vlan) && !is_unused(&state->user, "a change of its MAC or VLAN", faults))
		return false;
	if (mac)
		vf_plan_add(plan, VF_MAC,
			now->known ? vf_plan_differs(MAC " instead of " MAC, MAC_OF(now->mac), MAC_OF(conf->mac))
				   : vf_plan_differs("not known instead of " MAC, MAC_OF(conf->mac)),
			"ip link set dev %s vf %u mac " MAC, state->interface, conf->vf, MAC_OF(conf->mac));
	if (vlan)
		vf_plan_add(plan, VF_VLAN, vf_plan_differs("%u instead of %u", now->vlan, conf->vlan),
			"ip link set dev %s vf %u vlan %u", state->interface, conf->vf, conf->vlan);
	plan_switch(state, conf->vf, VF_SPOOF_CHECK, "spoofchk", conf->spoof_check, now->spoof_check, plan);
	plan_switch(state, conf->vf, VF_TRUST, "trust", conf->trust, now->trust, plan);
	return true;
}

/* Adds an error if the kernel uses a VF that would get vfio-pci, or another MAC or VLAN. Returns whether it does
 * not. */
static bool is_interface_unused(const struct vf_state *state, const struct vf_plan *plan, struct faults *faults)
{
	if (strcmp(state->vf_driver, vf_state_wanted_driver(state)) == 0 && !vf_plan_find(plan, VF_MAC) &&
		!vf_plan_find(plan, VF_VLAN))
		return true;
	if (*state->vf_interface)
		faults_error(faults, state->vf,
			"its interface %s is up, so the kernel uses this VF: switch %s off, write another number in vf, or take it with `apply --force`",
			state->vf_interface, state->vf_interface);
	else if (state->vf_interface_hidden)
		faults_error(faults, state->vf,
			"its interface is in another network namespace, so maybe a container uses this VF: write another number in vf, or take it with `apply --force`");
	else
		return true;
	return false;
}

/* mlx5_core reads the MAC of a VF only when it is bound. */
static bool must_bind_again(const struct vf_state *state, const struct vf_plan *plan)
{
	return strcmp(state->vf_driver, VF_MLX5) == 0 && vf_plan_find(plan, VF_MAC);
}

/*
 * vfio-pci gets a device that names it; the VF's own driver gets it by a probe. While autoprobe is off, the kernel
 * gives a VF only to a driver that it names.
 */
static bool plan_driver(const struct vf_state *state, struct vf_plan *plan, struct faults *faults)
{
	const char *wanted = vf_state_wanted_driver(state), *now = *state->vf_driver ? state->vf_driver : "none";
	bool named = strcmp(wanted, VF_VFIO) == 0 || !state->autoprobe;

	if (strcmp(now, wanted) == 0 && !must_bind_again(state, plan))
		return true;
	if (!is_unused(&state->user, "another driver", faults))
		return false;
	if (named && strcmp(state->vf_override, wanted) != 0)
		vf_plan_add(plan, VF_BINDING, vf_plan_differs("%s instead of %s", now, wanted),
			"echo %s > " DEVICE "driver_override", wanted, state->vf);
	if (*state->vf_driver)
		vf_plan_add(plan, VF_BINDING, vf_plan_differs("%s instead of %s", now, wanted),
			"echo %s > " DEVICE "driver/unbind", state->vf, state->vf);
	vf_plan_add(plan, VF_BINDING, vf_plan_differs("%s instead of %s", now, wanted),
		"echo %s > /sys/bus/pci/drivers_probe", state->vf);
	return true;
}

/* VFIO needs the module, and an IOMMU or the consent to work without one. */
static bool plan_vfio(const struct vf_state *state, struct vf_plan *plan, struct faults *faults)
{
	if (strcmp(vf_state_wanted_driver(state), VF_VFIO) != 0 || strcmp(state->vf_driver, VF_VFIO) == 0)
		return true;
	if (!state->has_iommu && !state->unsafe_no_iommu) {
		faults_error(faults, state->pf,
			"it has no IOMMU group, so vfio-pci refuses its VFs: enable VT-d or AMD-Vi in the firmware, add intel_iommu=on iommu=pt (AMD: iommu=pt) to the command line of the kernel, and restart this host");
		return false;
	}
	if (!state->has_vfio)
		vf_plan_add(plan, VF_BINDING, NULL, "modprobe " VF_VFIO);
	return true;
}

/* Rules of tc need switchdev mode, in which each VF has a representor. */
static bool plan_eswitch(const struct vf_conf *conf, struct vf_state *state, struct vf_plan *plan, struct faults *faults)
{
	if (conf->steering != VF_STEERING_RULES || !vf_rules_has_tc(state))
		return true;
	if (*state->eswitch_fault) {
		faults_error(faults, NULL, "%s", state->eswitch_fault);
		return false;
	}
	if (state->eswitch == VF_ESWITCH_UNKNOWN) {
		faults_error(faults, state->pf,
			"`devlink dev eswitch show pci/%s` names no mode, so the card has no rules that reach a VF: install the firmware of the card, or use \"next-hop\"",
			state->pf);
		return false;
	}
	if (state->eswitch == VF_ESWITCH_LEGACY) {
		vf_plan_add(plan, VF_ESWITCH, vf_plan_differs("legacy instead of switchdev"),
			"devlink dev eswitch set pci/%s mode switchdev", state->pf);
		plan->steps[plan->count - 1].replan = true;
	}
	if (!*state->representor && !vf_plan_find(plan, VF_ESWITCH) && !vf_plan_find(plan, VF_NUM_VFS)) {
		faults_error(faults, state->pf,
			"VF %u has no representor although the card is in switchdev mode: see dmesg", conf->vf);
		return false;
	}
	if (!*state->representor)
		snprintf(state->representor, sizeof(state->representor), "REPRESENTOR");
	return true;
}

/* At once, and even if the card refuses the number of VFs: until then, the VFs that others make stay without a
 * driver. */
static void plan_autoprobe(struct vf_state *state, struct vf_plan *plan)
{
	vf_plan_add(plan, VF_NUM_VFS,
		vf_plan_differs("the kernel binds no driver to new VFs, because an apply was ended before it was done"),
		"echo 1 > " DEVICE "sriov_drivers_autoprobe", state->pf);
	plan->steps[plan->count - 1].always = true;
	state->autoprobe = true;
}

static bool plan_all(const struct vf_conf *conf, struct vf_state *state, const struct vf_record *record, bool force,
	struct vf_plan *plan, struct faults *faults)
{
	bool autoprobe = record->exists ? record->autoprobe : state->autoprobe;

	if (!state->up)
		vf_plan_add(plan, VF_LINK, vf_plan_differs("%s is down, so the VF has no link", state->interface),
			"ip link set dev %s up", state->interface);
	if (!is_mac_free(conf, state, faults) || !plan_vfio(state, plan, faults) ||
		!plan_vfs(conf, state, force, plan, faults))
		return false;
	if (autoprobe && !state->autoprobe)
		plan_autoprobe(state, plan);
	if (!plan_eswitch(conf, state, plan, faults) || !plan_attributes(conf, state, plan, faults))
		return false;
	if (!force && record->made_vfs != (unsigned)state->count && !is_interface_unused(state, plan, faults))
		return false;
	if (!plan_driver(state, plan, faults))
		return false;
	if (conf->steering == VF_STEERING_RULES)
		return vf_rules_plan(conf, state, plan, faults);
	vf_rules_plan_removal(state, plan);
	return true;
}

int vf_plan_apply(const struct vf_conf *conf, const struct vf_state *state, const struct vf_record *record, bool force,
	struct vf_plan *plan, struct faults *faults)
{
	struct vf_state planned = *state;

	*plan = (struct vf_plan){0};
	if (plan_all(conf, &planned, record, force, plan, faults))
		return 0;
	vf_plan_free(plan);
	return -EINVAL;
}

static void plan_override(const struct vf_state *state, const char *now, const char *wanted, struct vf_plan *plan)
{
	if (strcmp(now, wanted) != 0)
		vf_plan_add(plan, VF_BINDING, NULL, "echo%s%s > " DEVICE "driver_override", *wanted ? " " : "", wanted,
			state->vf);
}

static void plan_return(const struct vf_state *state, const struct vf_record *record, struct vf_plan *plan)
{
	const struct vf_attributes *before = &record->attributes, *now = &state->attributes;
	const char *override = record->override;
	bool binds;

	if (before->known && memcmp(before->mac, now->mac, sizeof(now->mac)) != 0)
		vf_plan_add(plan, VF_MAC, NULL, "ip link set dev %s vf %u mac " MAC, state->interface, record->vf,
			MAC_OF(before->mac));
	if (before->known && before->vlan != now->vlan)
		vf_plan_add(plan, VF_VLAN, NULL, "ip link set dev %s vf %u vlan %u", state->interface, record->vf,
			before->vlan);
	plan_switch(state, record->vf, VF_SPOOF_CHECK, "spoofchk", before->spoof_check, now->spoof_check, plan);
	plan_switch(state, record->vf, VF_TRUST, "trust", before->trust, now->trust, plan);
	binds = strcmp(state->vf_driver, record->driver) != 0 || must_bind_again(state, plan);
	if (binds && !*override && !state->autoprobe)
		override = record->driver; /* as in plan_driver(), and only until the VF is bound */
	plan_override(state, state->vf_override, override, plan);
	if (binds && *state->vf_driver)
		vf_plan_add(plan, VF_BINDING, NULL, "echo %s > " DEVICE "driver/unbind", state->vf, state->vf);
	if (binds && *record->driver)
		vf_plan_add(plan, VF_BINDING, NULL, "echo %s > /sys/bus/pci/drivers_probe", state->vf);
	plan_override(state, override, record->override, plan);
}

int vf_plan_undo(const struct vf_state *state, const struct vf_record *record, bool force, struct vf_plan *plan,
	struct faults *faults)
{
	bool made = record->made_vfs || (force && !record->exists);
	char hint[128] = "";
	bool possible = true;

	*plan = (struct vf_plan){0};
	if (record->made_vfs && state->count != (long)record->made_vfs)
		snprintf(hint, sizeof(hint), "but apply made %u: `undo --force` removes all VFs", record->made_vfs);
	else if (state->other_bound)
		snprintf(hint, sizeof(hint),
			"and a driver has a VF that is not the director's: `undo --force` removes all VFs");
	vf_rules_plan_removal(state, plan);
	if (made && state->count)
		possible = plan_removal(state, force || !*hint, hint, plan, faults);
	else if (state->exists && record->exists) {
		possible = is_unused(&state->user, "undo", faults);
		if (possible)
			plan_return(state, record, plan);
	}
	if (!possible) {
		vf_plan_free(plan);
		return -EINVAL;
	}
	if (record->made_switchdev)
		vf_plan_add(plan, VF_ESWITCH, NULL, "devlink dev eswitch set pci/%s mode legacy", state->pf);
	if (!state->autoprobe && record->exists && record->autoprobe)
		vf_plan_add(plan, VF_NUM_VFS, NULL, "echo 1 > " DEVICE "sriov_drivers_autoprobe", state->pf);
	return 0;
}
