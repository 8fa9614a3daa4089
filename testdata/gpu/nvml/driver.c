// Makes the system calls by which NVIDIA's library reaches its driver: those of nvmlInit, of a query of memory and
// processes, and of nvmlShutdown, in the order in which driver 580.159.04 made them on an H100. There is no driver
// behind the devices here, so that an ioctl may fail, but not for lack of a right. A program that has given up some
// calls refuses them to the library, and nvmlInit notices, as with the real one. See README.md.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

enum { NVIDIA_MAJOR = 195, CONTROL = 255 }; // nv-linux.h

static struct {
	pthread_t thread;
	int event, pipe[2], control, uvm[2];
	int refused; // a call failed that must succeed
} driver;

static const char *folder(void)
{
	const char *path = getenv("NVML_STANDIN_DEVICES");

	return path ? path : "/dev";
}

static void refused(const char *what)
{
	if (getenv("NVML_STANDIN_LOUD"))
		fprintf(stderr, "NVML stand-in: %s: %s\n", what, strerror(errno));
	driver.refused = 1;
}

// needs records a call that failed for lack of a right, or that the kernel reports as missing.
static long needs(const char *what, long result)
{
	if (result < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		refused(what);
	return result;
}

static void reads(const char *path)
{
	char text[1024];
	FILE *f = fopen(path, "r");

	if (!f) {
		needs(path, -1);
		return;
	}
	while (fread(text, 1, sizeof(text), f) == sizeof(text))
		;
	fclose(f);
}

static void lists(const char *path)
{
	DIR *d = opendir(path);

	if (!d) {
		needs(path, -1);
		return;
	}
	while (readdir(d))
		;
	closedir(d);
}

// stat(2) itself, which the C library no longer calls, but NVIDIA's library does.
static long looks_at(const char *path, int needed)
{
	struct stat s;
	long result = syscall(SYS_stat, path, &s);

	return needed ? needs(path, result) : result;
}

// Prepares a device as the library does before it opens one (nvidia-modprobe-utils.c). It reads how devices are made,
// checks whether this one is right, makes it if not, and links to it, itself or by nvidia-modprobe(1). Only a device
// that cannot be checked, or made, is an error.
static int prepares(const char *name, unsigned int major, unsigned int minor)
{
	char path[512], link[600], target[256];

	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	snprintf(link, sizeof(link), "%s/char/%u:%u", folder(), major, minor);
	snprintf(target, sizeof(target), "../%s", name);
	reads("/proc/driver/nvidia/params");
	if (looks_at(path, 0)) {
		int why = errno;
		if (syscall(SYS_mknod, path, S_IFCHR | 0666, 0))
			errno = why;
		syscall(SYS_unlink, link);
		syscall(SYS_symlink, target, link);
		errno = why;
		needs(path, -1);
		return 0;
	}
	looks_at(path, 1);
	syscall(SYS_unlink, link);
	syscall(SYS_symlink, target, link);
	looks_at(link, 0);
	looks_at("/usr/bin/nvidia-modprobe", 0);
	pid_t pid = fork(); // if the file exists, it is executed: its mode gives it root's rights
	if (!pid)
		_exit(1);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return 1;
}

static int opens(const char *name, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	return (int)needs(path, openat(AT_FDCWD, path, flags));
}

static void asks(int device, unsigned long command)
{
	char room[0x900] = { 0 };

	needs("ioctl", syscall(SYS_ioctl, device, command, room));
}

static void *waits(void *unused)
{
	struct pollfd events[2] = { { driver.event, POLLIN, 0 }, { driver.pipe[0], POLLIN, 0 } };
	char byte;

	(void)unused;
	for (;;) {
		if (poll(events, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (events[1].revents && read(driver.pipe[0], &byte, 1) == 1 && byte == 'q')
			return NULL;
	}
}

// begins starts a thread that receives events, and reads the facts about processors.
static void begins(void)
{
	cpu_set_t set;
	char path[64];
	FILE *f;

	needs("sched_get_priority_max", sched_get_priority_max(SCHED_RR));
	needs("sched_get_priority_min", sched_get_priority_min(SCHED_RR));
	driver.event = (int)needs("eventfd2", syscall(SYS_eventfd2, 0, 02000000));
	needs("sched_getaffinity", sched_getaffinity(0, sizeof(set), &set));
	reads("/sys/devices/system/cpu/online");
	reads("/proc/sys/vm/mmap_min_addr");
	reads("/proc/cpuinfo");
	reads("/proc/self/maps");
	needs("pipe2", pipe2(driver.pipe, O_CLOEXEC | O_NONBLOCK));
	needs("fcntl", fcntl(driver.pipe[0], F_SETFL, O_NONBLOCK));
	if ((errno = pthread_create(&driver.thread, NULL, waits, NULL)))
		refused("clone3");
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)getpid());
	f = fopen(path, "w"); // only names the thread
	if (f)
		fclose(f);
}

static void looks_at_capability(int number)
{
	char name[64], path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/nvidia-caps", folder());
	reads("/proc/devices");
	if (syscall(SYS_mkdir, path, 0755) && errno != EEXIST)
		return;
	snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%d", number);
	if (!prepares(name, 241, (unsigned int)number))
		return;
	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	if (access(path, R_OK)) // they belong to root
		return;
	fd = opens(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

static void looks_at_memory(void)
{
	int mode;
	unsigned long nodes[16];

	reads("/proc/self/status");
	lists("/sys/devices/system/node");
	reads("/sys/devices/system/node/node0/cpumap");
	needs("get_mempolicy", syscall(SYS_get_mempolicy, &mode, nodes, 1024, NULL, 0));
}

static void opens_unified_memory(void)
{
	if (!prepares("nvidia-uvm", 238, 0))
		return;
	for (int i = 0; i < 2; i++) {
		driver.uvm[i] = opens("nvidia-uvm", O_RDWR | O_CLOEXEC);
		fcntl(driver.uvm[i], F_SETFD, FD_CLOEXEC);
	}
	asks(driver.uvm[0], 0x30000001); // UVM_INITIALIZE
	asks(driver.uvm[1], 0x4b);	 // UVM_MM_INITIALIZE
}

static int opens_device(unsigned int minor, int flags)
{
	char name[32];

	snprintf(name, sizeof(name), "nvidia%u", minor);
	return prepares(name, NVIDIA_MAJOR, minor) ? opens(name, flags) : -1;
}

int driver_starts(nvmlReturn_t *code)
{
	memset(&driver, 0, sizeof(driver));
	driver.control = driver.uvm[0] = driver.uvm[1] = -1;
	begins();
	needs("access", access("/sys/module/nvidia/initstate", R_OK));
	*code = NVML_ERROR_DRIVER_NOT_LOADED;
	if (!prepares("nvidiactl", NVIDIA_MAJOR, CONTROL)) {
		if (driver.refused)
			*code = NVML_ERROR_UNKNOWN;
		return 0;
	}
	driver.control = opens("nvidiactl", O_RDWR);
	fcntl(driver.control, F_SETFD, FD_CLOEXEC);
	asks(driver.control, 0xc04846d2); // check the version
	reads("/sys/devices/system/memory/block_size_bytes");
	for (unsigned int i = 0; i < (unsigned int)machine.count; i++) {
		int device = opens_device(machine.devices[i]->minor, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		asks(driver.control, 0xc030462b); // allocate
		asks(driver.control, 0xc020462a); // control
		asks(device, 0xc00846da);
		close(device);
	}
	looks_at_capability(1);
	looks_at_capability(2);
	looks_at_memory();
	opens_unified_memory();
	*code = driver.refused ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
	return !driver.refused;
}

// hangs as long as a named pipe, beside the machine's description, has no writer.
static void hangs(void)
{
	const char *machine = getenv("NVML_STANDIN");
	const char *slash = machine ? strrchr(machine, '/') : NULL;
	char path[512];
	int fd;

	if (!slash)
		return;
	snprintf(path, sizeof(path), "%.*s/gate", (int)(slash - machine), machine);
	fd = open(path, O_RDONLY);
	if (fd >= 0)
		close(fd);
}

int driver_is_asked(unsigned int minor)
{
	struct timespec none = { 0, 0 };
	hangs();
	int device = opens_device(minor, O_RDWR | O_CLOEXEC);

	fcntl(device, F_SETFD, FD_CLOEXEC);
	asks(device, 0xc00446c9);
	asks(device, 0xc23046d7);
	asks(driver.control, 0xc020462a);
	clock_nanosleep(CLOCK_REALTIME, 0, &none, NULL);
	if (device >= 0)
		close(device);
	return !driver.refused;
}

void driver_stops(void)
{
	asks(driver.uvm[0], 0x30000002); // UVM_DEINITIALIZE
	asks(driver.control, 0xc0104629); // free
	if (write(driver.pipe[1], "q", 1) == 1)
		pthread_join(driver.thread, NULL);
	int open[] = { driver.event, driver.pipe[0], driver.pipe[1], driver.control, driver.uvm[0], driver.uvm[1] };
	for (int *fd = open, i = 0; i < 6; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}
