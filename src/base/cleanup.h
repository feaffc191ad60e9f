/*
 * cleanup.h - ownership by scope.
 *
 * A variable declared with one of these attributes is released when its scope
 * ends; ownership leaves only through TAKE_PTR or TAKE_FD. There is no `goto`
 * for cleanup in this tree.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_fd_fn(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void cleanup_free_fn(void *ptr)
{
	free(*(void **)ptr);
}

static inline void cleanup_dir_fn(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static inline void cleanup_file_fn(FILE **file)
{
	if (*file != NULL)
		(void)fclose(*file);
}

#define cleanup_fd __attribute__((cleanup(cleanup_fd_fn)))
#define cleanup_free __attribute__((cleanup(cleanup_free_fn)))
#define cleanup_dir __attribute__((cleanup(cleanup_dir_fn)))
#define cleanup_file __attribute__((cleanup(cleanup_file_fn)))

/* Moves a descriptor out of a cleanup_fd variable. */
#define TAKE_FD(fd)                         \
	__extension__({                     \
		int *take_fd_ptr_ = &(fd);  \
		int take_fd_ = *take_fd_ptr_; \
		*take_fd_ptr_ = -1;         \
		take_fd_;                   \
	})

/* Moves a pointer out of a cleanup_free (or similar) variable. */
#define TAKE_PTR(ptr)                              \
	__extension__({                            \
		__typeof__(ptr) *take_p_ptr_ = &(ptr); \
		__typeof__(ptr) take_p_ = *take_p_ptr_; \
		*take_p_ptr_ = NULL;               \
		take_p_;                           \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
