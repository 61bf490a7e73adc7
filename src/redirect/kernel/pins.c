/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/pins.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "common/file/file_lock.h"

#define NAME_SIZE (2 * IFNAMSIZ) /* bytes of the path of a pin in the folder of an interface */
#define PATH_SIZE (sizeof(PINS_ROOT) + IFNAMSIZ + NAME_SIZE + 2)

#define FOLLOWER "follower:" /* and the number of a network namespace; longer than the name of an interface */

/* The maps that are pinned in the folder of a program, and their descriptors in a struct pins or a struct program. */
#define MAPS 6
static const char *const map_names[MAPS] = {"counters", "hops", "settings", "lists", "generation", "next"};
#define MAP_FDS(of)                                                                                            \
	{                                                                                                      \
		&(of)->counters, &(of)->hops, &(of)->settings, &(of)->lists.prefixes, &(of)->lists.generation, \
			&(of)->next                                                                            \
	}

/* A reader and a loader that replaces the program may run at the same time. */
#define ATTEMPTS    5
#define ATTEMPTS_MS 50

/* bpffs allows no dots in names. Names of interfaces have no colons, so a colon replaces each dot. */
static void replace_characters(char *text, char from, char to)
{
	for (; *text; text++)
		if (*text == from)
			*text = to;
}

/* The path of an entry of the interface's folder, or, if `name` is "", of this folder. */
static void path_of(char path[PATH_SIZE], const char *interface, const char *name)
{
	char folder[IFNAMSIZ];

	snprintf(folder, sizeof(folder), "%.*s", IFNAMSIZ - 1, interface);
	replace_characters(folder, '.', ':');
	snprintf(path, PATH_SIZE, PINS_ROOT "/%s%s%s", folder, *name ? "/" : "", name);
}

/* The path of a pin in a folder of the interface's folder, or, if `name` is "", of that entry. */
static void pin_path(char path[PATH_SIZE], const char *interface, const char *folder, const char *name)
{
	char pin[NAME_SIZE];

	snprintf(pin, sizeof(pin), "%s%s%s", folder, *name ? "/" : "", name);
	path_of(path, interface, pin);
}

const char *pins_program_folder(char folder[PINS_FOLDER_MAX], uint32_t program_id)
{
	snprintf(folder, PINS_FOLDER_MAX, "%u", program_id);
	return folder;
}

int pins_get(const char *interface, const char *folder, const char *name)
{
	char path[PATH_SIZE];

	pin_path(path, interface, folder, name);
	return bpf_obj_get(path);
}

static int read_link(struct pins *pins)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	int error = bpf_obj_get_info_by_fd(pins->link, &info, &size);

	if (error)
		return error;
	if (info.type != BPF_LINK_TYPE_XDP)
		return -EINVAL;
	pins->link_ifindex = info.xdp.ifindex;
	pins->program_id = info.prog_id;
	return 0;
}

/* Sets *fd to the pinned map of the program, or leaves it at -1 if it is not pinned. */
static int open_map(const char *interface, const struct pins *pins, const char *name, int *fd)
{
	char folder[PINS_FOLDER_MAX];
	int opened = pins_get(interface, pins_program_folder(folder, pins->program_id), name);

	if (opened == -ENOENT)
		return 0;
	*fd = opened < 0 ? -1 : opened;
	return opened < 0 ? opened : 0;
}

static int open_once(const char *interface, struct pins *pins)
{
	int *const fds[MAPS] = MAP_FDS(pins);
	int error;

	*pins = (struct pins){.link = -1, .counters = -1, .hops = -1, .settings = -1, .next = -1, .lists = {-1, -1}};
	pins->link = pins_get(interface, PINS_LINK, "");
	if (pins->link < 0)
		return pins->link;
	error = read_link(pins);
	for (int i = 0; i < MAPS && !error; i++)
		error = open_map(interface, pins, map_names[i], fds[i]);
	if (error)
		pins_close(pins);
	return error;
}

int pins_open(const char *interface, struct pins *pins)
{
	int error = open_once(interface, pins);

	/* Another loader has replaced the program since open_once() read the link. */
	for (int i = 1; i < ATTEMPTS && !error && (pins->counters < 0 || pins->settings < 0); i++) {
		pins_close(pins);
		error = open_once(interface, pins);
	}
	return error;
}

/* Sets *runs: whether the link's program is the one on the interface with the link's index in our network namespace. */
static int find_program(const struct pins *pins, struct pins_location *location, bool *runs)
{
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};
	struct pins now = *pins;
	int error = bpf_xdp_query((int)pins->link_ifindex, 0, &query);

	if (!error)
		error = read_link(&now);
	*runs = query.prog_id == now.program_id;
	location->mode = query.attach_mode;
	return error;
}

/*
 * The same ifindex can exist in several network namespaces, but a program id is unique on the host. So
 * the link's interface is in our namespace if the interface with that index has the link's program.
 */
int pins_locate(const char *interface, const struct pins *pins, struct pins_location *location)
{
	bool runs = false;
	int error = 0;

	*location = (struct pins_location){.place = PINS_GONE};
	if (pins->link_ifindex == 0)
		return 0;
	location->place = PINS_ELSEWHERE;
	if (!if_indextoname(pins->link_ifindex, location->name))
		return errno == ENXIO ? 0 : -errno;
	/* Another loader may replace the program while find_program() compares. */
	for (int i = 0; i < ATTEMPTS && !error && !runs; i++)
		error = find_program(pins, location, &runs);
	if (runs)
		location->place = strcmp(location->name, interface) == 0 ? PINS_HERE : PINS_RENAMED;
	return error;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void pins_close(struct pins *pins)
{
	int *const fds[MAPS] = MAP_FDS(pins);

	for (int i = 0; i < MAPS; i++)
		close_fd(fds[i]);
	close_fd(&pins->link);
}

int pins_check_bpffs(void)
{
	struct statfs fs;

	return statfs(PINS_BPFFS, &fs) != 0 || fs.f_type != BPF_FS_MAGIC ? -ENODEV : 0;
}

static int make_folder(const char *path)
{
	return mkdir(path, 0700) != 0 && errno != EEXIST ? -errno : 0;
}

/* Network namespaces may share a bpffs, so the folder that the follower locks is named by the namespace. */
static int follower_folder(char path[PATH_SIZE])
{
	struct stat namespace;

	if (stat("/proc/self/ns/net", &namespace) != 0)
		return -errno;
	snprintf(path, PATH_SIZE, PINS_ROOT "/" FOLLOWER "%llu", (unsigned long long)namespace.st_ino);
	return 0;
}

int pins_lock_follower(void)
{
	char path[PATH_SIZE], holder[FILE_LOCK_HOLDER_MAX];
	int error = follower_folder(path);

	if (!error)
		error = pins_check_bpffs();
	if (!error)
		error = make_folder(PINS_ROOT);
	/* pins_has_follower() has it for a moment */
	return error ? error : file_lock_folder(path, ATTEMPTS_MS, holder);
}

bool pins_has_follower(void)
{
	char path[PATH_SIZE];

	return follower_folder(path) == 0 && file_folder_is_locked(path);
}

int pins_make_folder(const char *interface, const char *folder)
{
	char path[PATH_SIZE], above[PATH_SIZE];
	int error = pins_check_bpffs();

	if (error)
		return error;
	path_of(above, interface, "");
	pin_path(path, interface, folder, "");
	error = make_folder(PINS_ROOT);
	if (!error)
		error = make_folder(above);
	return error ? error : make_folder(path);
}

int pins_put(const char *interface, const char *folder, const char *name, int fd)
{
	char path[PATH_SIZE];

	pin_path(path, interface, folder, name);
	return bpf_obj_pin(fd, path);
}

int pins_put_program(const char *interface, const struct program *program)
{
	const int *const fds[MAPS] = MAP_FDS(program);
	char folder[PINS_FOLDER_MAX];
	int error = pins_make_folder(interface, pins_program_folder(folder, program->id));

	for (int i = 0; i < MAPS && !error; i++)
		error = pins_put(interface, folder, map_names[i], *fds[i]);
	return error;
}

/* Removes the files of a folder and then the folder. Returns false if this removed nothing. */
static bool remove_folder(const char *path)
{
	DIR *folder = opendir(path);

	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	return rmdir(path) == 0;
}

void pins_remove_pin(const char *interface, const char *folder, const char *name)
{
	char path[PATH_SIZE];

	pin_path(path, interface, folder, name);
	unlink(path);
}

void pins_remove_folder(const char *interface, const char *folder)
{
	char path[PATH_SIZE];

	pin_path(path, interface, folder, "");
	remove_folder(path);
}

/* keep: NULL for all folders in the interface's folder, else those of other programs than that of this folder. */
static void remove_folders(const char *interface, const char *keep)
{
	char path[PATH_SIZE];
	DIR *folder;

	path_of(path, interface, "");
	folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (keep ? isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, keep) != 0
			 : entry->d_name[0] != '.' && strlen(entry->d_name) < IFNAMSIZ)
			pins_remove_folder(interface, entry->d_name);
	if (folder)
		closedir(folder);
}

void pins_remove_others(const char *interface, uint32_t program_id)
{
	char keep[PINS_FOLDER_MAX];

	remove_folders(interface, pins_program_folder(keep, program_id));
}

bool pins_remove(const char *interface)
{
	char path[PATH_SIZE];

	remove_folders(interface, NULL);
	path_of(path, interface, "");
	return remove_folder(path);
}

/* False if `attach` was interrupted, or is running now. True if it cannot be told: each() then gets the error.
 * access(2) would check the real user, who may have fewer rights. */
static bool has_link(const char *interface)
{
	char path[PATH_SIZE];

	path_of(path, interface, PINS_LINK);
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0 || errno != ENOENT;
}

static int is_interface(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strlen(entry->d_name) < IFNAMSIZ;
}

int pins_for_each(int (*each)(const char *interface, void *data), void *data)
{
	struct dirent **entries;
	int count = scandir(PINS_ROOT, &entries, is_interface, alphasort), result = 0;

	if (count < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		replace_characters(entries[i]->d_name, ':', '.');
		if (result == 0 && has_link(entries[i]->d_name))
			result = each(entries[i]->d_name, data);
		free(entries[i]);
	}
	free(entries);
	return result;
}

/*
 * Returns the number of entries of a map, or 0 if it has another type, or if the size of its values is
 * not between `smallest` and `largest` bytes. A map of another version can have larger values, and a
 * lookup writes the map's size to our buffer, so this check comes first.
 */
static uint32_t map_entries(int map, uint32_t type, uint32_t smallest, uint32_t largest)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (map < 0 || bpf_obj_get_info_by_fd(map, &info, &size) != 0 || info.type != type)
		return 0;
	return info.value_size >= smallest && info.value_size <= largest ? info.max_entries : 0;
}

int pins_read_settings(const struct pins *pins, struct redirect_settings *settings)
{
	uint32_t key = 0;

	*settings = (struct redirect_settings){0};
	if (map_entries(pins->settings, BPF_MAP_TYPE_ARRAY, REDIRECT_OLDEST_SETTINGS, sizeof(*settings)) != 1)
		return -EPROTO;
	return bpf_map_lookup_elem(pins->settings, &key, settings);
}

bool pins_has_hops(const struct pins *pins)
{
	return map_entries(pins->hops, BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint64_t), sizeof(uint64_t)) == REDIRECT_HOPS;
}

uint32_t pins_known_counters(const struct pins *pins)
{
	uint32_t entries = map_entries(pins->counters, BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint64_t), sizeof(uint64_t));
	struct redirect_settings settings;

	if (entries > REDIRECT_COUNTER_COUNT || pins_read_settings(pins, &settings) != 0 ||
		settings.layout != program_layout(entries))
		return 0;
	return entries;
}

/* Makes room for the values that the processors have of a counter, which the caller frees. Returns the number of
 * processors or -errno. */
static int make_parts(uint64_t **parts)
{
	int processors = libbpf_num_possible_cpus();

	*parts = processors < 0 ? NULL : calloc((size_t)processors, sizeof(**parts));
	return processors < 0 || *parts ? processors : -ENOMEM;
}

int pins_copy_counters(const struct pins *pins, int map, uint32_t count)
{
	uint64_t *parts;
	int processors = make_parts(&parts), error = processors < 0 ? processors : 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		error = bpf_map_lookup_elem(pins->counters, &i, parts);
		if (!error)
			error = bpf_map_update_elem(map, &i, parts, BPF_ANY);
	}
	free(parts);
	return error;
}

int pins_sum(int map, uint32_t count, uint64_t *values)
{
	uint64_t *parts;
	int processors = make_parts(&parts), error = processors < 0 ? processors : 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		error = bpf_map_lookup_elem(map, &i, parts);
		values[i] = 0;
		for (int processor = 0; processor < processors; processor++)
			values[i] += parts[processor];
	}
	free(parts);
	return error;
}
