/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vforks DEPTH: a process DEPTH generations below this one calls vfork(2). Its child prints its own pid and that of the
 * process that waits for it, and reads a byte from descriptor 3. At "x" it executes cat, which closes the descriptor.
 * At any other, or at the end, it ends. Each process waits for its child, prints "ended", and reads descriptor 4 to its
 * end.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
	char byte = 0;
	pid_t child = 1;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int depth = count > 1 ? atoi(words[1]) : 0; depth > 0 && child > 0; depth--) {
		child = fork();
		if (child < 0)
			return 99;
		if (child > 0) /* this one has its child; the next generation goes on */
			goto wait;
		child = 1;
	}
	child = vfork();
	if (child < 0)
		return 99;
	if (child == 0) {
		dprintf(1, "%d %d\n", getpid(), getppid());
		if (read(3, &byte, 1) == 1 && byte == 'x')
			execlp("cat", "cat", NULL);
		_exit(0);
	}
wait:
	if (waitpid(child, NULL, 0) != child)
		return 99;
	dprintf(1, "ended\n");
	while (read(4, &byte, 1) > 0)
		;
	return 0;
}
