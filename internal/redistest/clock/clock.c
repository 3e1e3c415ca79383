/* A wall clock that a test may set. Loaded before libc (LD_PRELOAD), this moves what the
 * process takes for the time of day by the number of nanoseconds in the first eight bytes of
 * the file that REDLATCH_CLOCK names. The file is mapped, so a change counts from the next
 * look at the clock. Other clocks, the monotonic one above all, are left alone, as they are
 * when a machine's clock is set. For 64-bit Linux. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static int64_t still;
static volatile int64_t *offset = &still;

__attribute__((constructor)) static void map_offset(void) {
	const char *path = getenv("REDLATCH_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof still, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED)
		offset = page;
	close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, clock, now);
	if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return failed;
	int64_t moved = now->tv_sec * SECOND + now->tv_nsec + *offset;
	now->tv_sec = moved / SECOND;
	now->tv_nsec = moved % SECOND;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	struct timespec fine;
	int failed = clock_gettime(CLOCK_REALTIME, &fine);
	(void)zone;
	now->tv_sec = fine.tv_sec;
	now->tv_usec = fine.tv_nsec / 1000;
	return failed;
}

time_t time(time_t *now) {
	struct timespec fine;
	clock_gettime(CLOCK_REALTIME, &fine);
	if (now)
		*now = fine.tv_sec;
	return fine.tv_sec;
}
