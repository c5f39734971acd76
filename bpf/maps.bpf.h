/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How maps are declared, and how something is kept in one. One of 1 entry gets its size before it
 * is loaded; the comment beside that says which.
 */
#ifndef BPF_MAPS_BPF_H
#define BPF_MAPS_BPF_H

/* @kind is what BPF_MAP_TYPE_ is followed by; behind the types is what else there is to be said. */
#define MAP(name, kind, entries, key_type, value_type, ...) \
	struct {                                            \
		__uint(type, BPF_MAP_TYPE_##kind);          \
		__uint(max_entries, entries);               \
		__type(key, key_type);                      \
		__type(value, value_type);                  \
		__VA_ARGS__;                                \
	} name SEC(".maps")

/* Of those: entries are made as they come. */
#define NO_PREALLOC __uint(map_flags, BPF_F_NO_PREALLOC)

/* By a number. */
#define ARRAY_MAP(name, entries, value_type) MAP(name, ARRAY, entries, __u32, value_type)

/* One that place-probe maps into its memory as well. */
#define SHARED_ARRAY(name, entries, value_type) \
	MAP(name, ARRAY, entries, __u32, value_type, __uint(map_flags, BPF_F_MMAPABLE))

/* What @map has for @key: @value from now on, if that was nothing. NULL: there is no room. */
static __always_inline void *find_or_add(void *map, const void *key, const void *value)
{
	void *found = bpf_map_lookup_elem(map, key);

	if (found)
		return found;
	/* Another CPU may have been first. */
	bpf_map_update_elem(map, key, value, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

#endif
