/* Preloaded into a Redis server of a run: writes to files fail, and syncs of files take longer, as the file that
   REDIS_LEDGER_SIM_DISK names says.  tests/sim/disk.py writes that file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct control {
    int64_t is_loaded, is_full, sync_ms;
};
static volatile struct control *control;

__attribute__((constructor)) static void load(void) {
    const char *name = getenv("REDIS_LEDGER_SIM_DISK");
    int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return;
    control = memory;
    control->is_loaded = 1;
}

static int is_file(int fd) {
    struct stat found;
    return syscall(SYS_fstat, fd, &found) == 0 && S_ISREG(found.st_mode);
}

static void sync_slowly(void) {
    if (!control || control->sync_ms <= 0) return;
    struct timespec pause = {control->sync_ms / 1000, control->sync_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    if (control && control->is_full && is_file(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, size);
}

int fsync(int fd) {
    sync_slowly();
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    sync_slowly();
    return syscall(SYS_fdatasync, fd);
}
