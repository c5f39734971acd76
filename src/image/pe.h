/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PE file as .NET writes it: where its sections lie in the file and in the
 * loaded image, and the conversions between the two.
 *
 * The bytes are the flat file (or the slice of a single-file bundle), or with
 * pe_init_loaded() the loaded layout. Source of the format: Microsoft "PE Format" specification;
 * ECMA-335 II.25 for the CLI header.
 */
#ifndef IMAGE_PE_H
#define IMAGE_PE_H

#include "image/cursor.h"
#include "image/space.h"

struct error;

enum {
	PE_MAX_SECTIONS = 96, /* the format's own limit */
	PE_DIRECTORIES = 16,

	PE_DIRECTORY_EXPORT = 0,
	PE_DIRECTORY_EXCEPTION = 3,
	PE_DIRECTORY_DEBUG = 6,
	PE_DIRECTORY_CLI = 14,

	PE_MACHINE_AMD64 = 0x8664,
	PE_MACHINE_ARM64 = 0xaa64,
	PE_MACHINE_I386 = 0x014c,      /* also what an IL-only AnyCPU assembly says */
	PE_MACHINE_XOR_LINUX = 0x7b79, /* ReadyToRun images are marked with their OS */
};

struct pe_section {
	char name[9];
	struct rva rva;
	uint32_t virtual_size;
	uint32_t raw_offset;
	uint32_t raw_size;
	bool executable;
};

struct pe_directory {
	struct rva rva;
	uint32_t size;
};

struct pe {
	struct span file;
	uint16_t machine; /* as stored, with the OS mark */
	uint32_t image_size;
	unsigned int section_count;
	struct pe_section sections[PE_MAX_SECTIONS];
	struct pe_directory directories[PE_DIRECTORIES];
};

/* Read the headers of @file, which must outlive @pe. -EBADMSG with @err set if it is no PE. */
int pe_init(struct pe *pe, struct span file, struct error *err);

/*
 * The same of an image as the runtime has laid it out in memory: "offsets in the file" are then
 * RVAs, and pe->file is the image.
 */
int pe_init_loaded(struct pe *pe, struct span image, struct error *err);

/* Where @rva lies in the file (relative to pe->file). False if no section's file bytes hold it. */
bool pe_rva_to_offset(const struct pe *pe, struct rva rva, struct file_offset *offset);

/* The reverse. False if @offset is in no section. */
bool pe_offset_to_rva(const struct pe *pe, struct file_offset offset, struct rva *rva);

/* Is @rva inside a section that is mapped executable? */
bool pe_is_code(const struct pe *pe, struct rva rva);

/* @size bytes at @rva; none if they do not lie within one section. */
struct span pe_bytes(const struct pe *pe, struct rva rva, uint32_t size);

/* A cursor at @rva that ends with its section; bad if no section holds it. */
struct cursor pe_cursor(const struct pe *pe, struct rva rva);

/* An entry of the exception directory: a function, or a part of one (handler, cold code). */
struct pe_function {
	uint32_t size;
	uint32_t next; /* RVA where the next entry begins, UINT32_MAX if it is the last */
};

/*
 * The entry that begins at @rva. 1 with @function filled, 0 if none begins there, -ENOENT if the
 * image has no such table (which is sorted).
 */
int pe_function_at(const struct pe *pe, struct rva rva, struct pe_function *function);

/* An entry of the debug directory. */
struct pe_debug_entry {
	uint32_t type;
	uint32_t stamp;
	uint16_t major;
	uint16_t minor;
	struct span data; /* none if it does not lie in the image */
};

/* The @index-th of them; false if there are no more. */
bool pe_debug_entry(const struct pe *pe, unsigned int index, struct pe_debug_entry *entry);

/* The data of the first debug directory entry of @type; none if there is none. */
struct span pe_debug_data(const struct pe *pe, uint32_t type);

#endif
