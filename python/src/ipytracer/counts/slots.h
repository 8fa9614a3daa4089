/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a library makes to functions of its own through its table of addresses (PLT and GOT). */
#ifndef IPYTRACER_SLOTS_H
#define IPYTRACER_SLOTS_H

/* A function that a library exports and calls, and the one that is called instead. */
struct detour {
	const char *symbol;
	void *from;
	void *to;
};

/* Why a library was left as it is. */
enum untouched {
	DETOURED,        /* it was not: its calls are led elsewhere now */
	NO_SLOTS,        /* it does not call each of the functions through its table */
	OTHERS_SLOTS,    /* its table has another function there: other code leads the calls elsewhere */
	READ_ONLY_SLOTS, /* the kernel does not let the table be written to */
};

/*
 * lead_calls has the library with the first function call others instead of its own: of two, the second first. The
 * library stays loaded. Either all calls are led elsewhere or none.
 */
enum untouched lead_calls(const struct detour two[2]) __attribute__((visibility("hidden")));

#endif
