/*
 * One of the three stand-in libraries: compiled with FUNCTIONS set to one of the lists of functions.h, it exports the
 * functions of that list under their own names. Each hands its arguments to the player, which plays the recorded calls
 * inside this one and provides the result. Without a player every function does nothing and returns 0.
 */
#include <stdint.h>
#include "functions.h"

typedef uint64_t player(unsigned function, const uint64_t arguments[6]);

static player *play;

/* Called once the library is loaded: see libraries.py. */
void replay_connect(player *p)
{
	play = p;
}

/*
 * Six registers whatever the true signature: the recording has six, including the content of the surplus ones. The
 * frame pointer is pushed first, as in the driver, where the cheap place for a probe is that push.
 */
#define DEFINE(name, out) \
	__attribute__((noinline)) uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) \
	{ \
		uint64_t arguments[6] = { a, b, c, d, e, f }; \
		return play ? play(ID_##name, arguments) : 0; \
	}

FUNCTIONS(DEFINE)
