/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* arm64 has no tracepoint for page faults, so nobody asks for its page tables. */
#ifndef IPYTRACER_PAGETABLES_H
#define IPYTRACER_PAGETABLES_H

#define FAULT_WRITES  0
#define FAULT_REFUSED 0

const volatile __u32 entire_offset = 0;
const volatile __u64 large_flag = 0;

SEC("syscall")
int discover_map(void *unused)
{
	return 1;
}

static __always_inline __u64 will_copy(__u64 mm, __u64 address)
{
	return 0;
}

#endif
