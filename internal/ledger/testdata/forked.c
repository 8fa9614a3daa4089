/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * forked: a process has PAGES pages, and forks a child that shares them, for
 * each line that it reads. The child does what the line says, says "did it" and
 * waits for the next line, at which it ends.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 1024, PAGE = 4096 };

static char *memory;
static sigjmp_buf back;

static void fail(const char *what) {
  perror(what);
  _exit(99);
}

static void write_pages(int from, int to) {
  for (int i = from; i < to; i++)
    *(volatile char *)&memory[i * PAGE] = 2;
}

static void refused(int number) { siglongjmp(back, number); }

/* Writes to pages that must not be written to, again and again: no page is
 * copied. */
static void write_in_vain(void) {
  signal(SIGSEGV, refused);
  if (mprotect(memory, PAGES * PAGE, PROT_READ))
    fail("mprotect");
  for (volatile int i = 0; i < 20 * PAGES; i++) {
    if (!sigsetjmp(back, 1))
      write_pages(i % PAGES, i % PAGES + 1);
  }
}

static void child(const char *line) {
  if (!strcmp(line, "writes\n"))
    write_pages(0, PAGES / 2);
  else if (!strcmp(line, "writes in vain\n"))
    write_in_vain();
  else if (!strcmp(line, "forks\n")) {
    write_pages(0, PAGES / 2);
    pid_t pid = fork();
    if (!pid) {
      pause();
      _exit(0);
    }
    write_pages(0, PAGES / 2); /* which its own child has, and then no one */
    kill(pid, SIGKILL);
    waitpid(pid, 0, 0);
  } else if (!strcmp(line, "gives back\n")) {
    if (madvise(memory, PAGES * PAGE, MADV_DONTNEED))
      fail("madvise");
  }
}

int main(void) {
  char line[100];

  setbuf(stdout, 0);
  setbuf(stdin, 0);
  memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE))
    fail("mmap");
  write_pages(0, PAGES);
  puts("ready");
  while (fgets(line, sizeof(line), stdin)) {
    pid_t pid = fork();
    if (!pid) {
      child(line);
      puts("did it");
      pause();
    }
    if (!fgets(line, sizeof(line), stdin))
      break;
    kill(pid, SIGKILL);
    waitpid(pid, 0, 0);
    puts("ended");
  }
  return 0;
}
