/*
 * Plays a recording: makes every recorded call, on one real thread per recorded thread, in the recorded order.
 *
 * `position` is the next event. Only the thread of that event may act. A call moves it inside the called function,
 * so nothing overtakes the entry; a return moves it in the caller, so nothing overtakes the exit. Between a
 * call and its return the function plays whatever comes on its thread: those are the calls nested in it.
 *
 * The thread that calls replay_play is recorded thread 0. The others are started when their first event comes, and live
 * until the process ends.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "functions.h"

enum { CALL, RETURN };
enum { MAX_THREADS = 64, PROP_BYTES = 32 };

/* This value is at the address of a result before the call has returned: an early reader gets nonsense. */
#define POISON 0xdeadbeefdeadbeefull

struct event {                  /* as replay.py packs it */
	uint32_t kind, thread, function;
	uint8_t returns, has_prop, pad[2];      /* of a call: its return was recorded; prop is set */
	uint64_t arguments[6];                  /* of a call */
	uint64_t result, out;                   /* of a return */
	uint8_t prop[PROP_BYTES];               /* of a call: CUmemAllocationProp */
};

struct played {                 /* one a call or return that was played, in the order it happened */
	uint64_t event, result, out;
	uint32_t function, tid;
	uint64_t arguments[6];                  /* of a call: as the function received them */
	uint8_t prop[PROP_BYTES];               /* and what its pointer led to */
};

struct call {                   /* a call in progress on this thread */
	const struct event *event;
	uint64_t arguments[6];
	struct call *outer;
};

typedef uint64_t function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

#define OUT(name, out) out,
static const uint8_t has_out[] = { CUDA_FUNCTIONS(OUT) CUDART_FUNCTIONS(OUT) C10_FUNCTIONS(OUT) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static const struct event *events;
static size_t position, end;
static struct played *played;
static size_t played_count;
static uint8_t started[MAX_THREADS];
static function *functions[FUNCTIONS_END];
static const char *broken;      /* why the replay is not what was recorded; nothing is played from then on */

static _Thread_local struct call *current;
static _Thread_local uint32_t me;

static void play_turns(void);

/* With the lock held. */
static void move_on(struct played what)
{
	what.event = position;
	what.tid = (uint32_t)syscall(SYS_gettid);
	played[played_count++] = what;
	position++;
	pthread_cond_broadcast(&moved);
}

/* With the lock held. */
static void give_up(const char *why)
{
	if (!broken)
		broken = why;
	pthread_cond_broadcast(&moved);
}

static void *other_thread(void *index)
{
	me = (uint32_t)(uintptr_t)index;
	play_turns();
	return NULL;
}

/* With the lock held. */
static void start(uint32_t thread)
{
	pthread_t id;

	started[thread] = 1;
	if (pthread_create(&id, NULL, other_thread, (void *)(uintptr_t)thread))
		give_up("a thread could not be started");
	else
		pthread_detach(id);
}

/* This thread's next event; NULL when there is none: for thread 0 the step is over, for any the replay is broken. */
static const struct event *next(void)
{
	const struct event *event = NULL;

	pthread_mutex_lock(&lock);
	while (!broken) {
		if (position < end && events[position].thread == me) {
			event = &events[position];
			break;
		}
		if (position < end && !started[events[position].thread])
			start(events[position].thread);
		if (position >= end && me == 0 && !current)
			break;
		pthread_cond_wait(&moved, &lock);
	}
	pthread_mutex_unlock(&lock);
	return event;
}

static void make(const struct event *event)
{
	uint64_t memory = POISON;
	uint8_t prop[2 * PROP_BYTES] = { 0 };
	struct call call = { .event = event, .outer = current };
	uint64_t *a = call.arguments, result;

	memcpy(a, event->arguments, sizeof(call.arguments));
	if (has_out[event->function]) {
		/* The runtime hands the driver the pointer that it was given: the same one here. */
		int same = current && has_out[current->event->function] && current->event->arguments[0] == a[0];
		a[0] = same ? current->arguments[0] : (uint64_t)(uintptr_t)&memory;
	}
	if (event->has_prop) {
		memcpy(prop, event->prop, PROP_BYTES);
		a[2] = (uint64_t)(uintptr_t)prop;
	}
	current = &call;
	result = functions[event->function](a[0], a[1], a[2], a[3], a[4], a[5]);
	current = call.outer;
	if (event->returns && !broken) {
		pthread_mutex_lock(&lock);
		move_on((struct played){ .function = event->function, .result = result,
					 .out = has_out[event->function] ? *(uint64_t *)(uintptr_t)a[0] : 0 });
		pthread_mutex_unlock(&lock);
	}
}

static void play_turns(void)
{
	const struct event *event;

	while ((event = next())) {
		if (event->kind == CALL) {
			make(event);
			continue;
		}
		pthread_mutex_lock(&lock);
		give_up("a return outside any call");
		pthread_mutex_unlock(&lock);
	}
}

/* The body of every stand-in function. */
uint64_t replay_enter(unsigned function, const uint64_t arguments[6])
{
	struct call *call = current;
	struct played entry = { .function = function };
	const struct event *event;

	if (!call)              /* somebody else has called it: no part of the replay */
		return 0;
	memcpy(entry.arguments, arguments, sizeof(entry.arguments));
	if (call->event->has_prop)
		memcpy(entry.prop, (void *)(uintptr_t)arguments[2], PROP_BYTES);
	pthread_mutex_lock(&lock);
	if (function != call->event->function || memcmp(arguments, call->arguments, sizeof(call->arguments)))
		give_up("a call has arrived as another one");
	else
		move_on(entry);
	pthread_mutex_unlock(&lock);
	if (!call->event->returns)
		return 0;
	while ((event = next()) && event->kind == CALL)
		make(event);
	if (!event)
		return 0;
	if (has_out[function])
		*(uint64_t *)(uintptr_t)arguments[0] = event->out;
	return event->result;
}

/* The events stay the caller's and must stay where they are. 0, or -1. */
int replay_load(const struct event *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].thread >= MAX_THREADS || list[i].function >= FUNCTIONS_END)
			return -1;
	free(played);
	played = calloc(count ? count : 1, sizeof(*played));
	if (!played)
		return -1;
	events = list;
	position = end = played_count = 0;
	started[0] = 1;
	return 0;
}

void replay_function(unsigned id, function *address)
{
	functions[id] = address;
}

/* Plays up to event number `to`. Returns NULL, or the reason for a failure. */
const char *replay_play(size_t to)
{
	pthread_mutex_lock(&lock);
	end = to;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
	play_turns();
	return broken;
}

const struct played *replay_log(size_t *count)
{
	*count = played_count;
	return played;
}

size_t replay_event_size(void)
{
	return sizeof(struct event);
}
