/* numbers.h: the functions of numbers.c that pin.c calls. */
#include <stdint.h>
#include <sys/types.h>

/* The highest bits of an inode number in the job's overlay are the number of the file system below it: the job's own,
 * the one of the worlds' layers, or the one of the base image. Another file system uses none of these bits. */
#define FILE_SYSTEM_SHIFT 62
enum { JOB, LAYERS, BASE };

#define LOCAL __attribute__((visibility("hidden")))

/* Return the number that a job sees for an inode number of the kernel. */
LOCAL uint64_t pinned_inode(uint64_t inode);

/* Return the time at which commands of the world start, in seconds since 1970, or 0 if no world is selected. */
LOCAL int64_t world_clock(void);

/* Return whether an inode number of the kernel belongs to the base image. */
LOCAL int is_of_base(uint64_t inode);

/* Return the number that a job sees for a device number of the kernel. */
LOCAL dev_t pinned_device(dev_t device);
