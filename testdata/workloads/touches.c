/* Touches each page of a buffer, each function by other instructions. Returns how many functions there are. */
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096

#define EACH(name, code)                                       \
	static void name(char *at, size_t pages)               \
	{                                                      \
		for (; pages; pages--, at += PAGE)             \
			code;                                  \
	}

#if defined(__x86_64__)
EACH(plain, __asm__ volatile("movb $1, (%0)" : : "r"(at) : "memory"))
EACH(far, __asm__ volatile("movl $1, -70000(%0)" : : "r"(at + 70000) : "memory"))
EACH(near, __asm__ volatile("addq $1, 24(%0)" : : "r"(at) : "memory"))
EACH(scaled, __asm__ volatile("movb $1, 5(%0, %1, 8)" : : "r"(at - 800), "r"((size_t)100) : "memory"))
EACH(based, { register size_t base __asm__("r13") = (size_t)at; register size_t by __asm__("r12") = 16;
	      __asm__ volatile("movw $1, (%0, %1)" : : "r"(base), "r"(by) : "memory"); })
EACH(strings, { char *to = at; size_t n = PAGE / 8;
		__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(1l) : "memory"); })
EACH(copies, { char *to = at; size_t n = PAGE / 8; char from[PAGE]; const char *source = from;
	       __asm__ volatile("" : : "r"(from) : "memory");
	       __asm__ volatile("rep movsq" : "+D"(to), "+S"(source), "+c"(n) : : "memory"); })
EACH(wide, __asm__ volatile("movups %%xmm0, 32(%0)" : : "r"(at) : "memory"))
__attribute__((target("avx"))) EACH(vex, __asm__ volatile("vmovups %%ymm0, 64(%0)" : : "r"(at) : "memory"))
__attribute__((target("avx"))) EACH(vex3, { register size_t base __asm__("r9") = (size_t)at;
	__asm__ volatile("vmovups %%ymm0, 64(%0)" : : "r"(base) : "memory"); })
__attribute__((target("avx512f"))) EACH(evex, __asm__ volatile("vmovups %%zmm0, 128(%0)" : : "r"(at) : "memory"))
EACH(exchanged, { int x = 1; __asm__ volatile("lock xaddl %0, 8(%1)" : "+r"(x) : "r"(at) : "memory"); })
EACH(pushed, __asm__ volatile("movq %%rsp, %%rax; leaq 512(%0), %%rsp; pushq $1; movq %%rax, %%rsp" : : "r"(at)
			      : "rax", "memory"))
EACH(untimed, __asm__ volatile("movnti %1, 4(%0)" : : "r"(at), "r"(1) : "memory"))

static void (*const all[])(char *, size_t) = { plain, far,   near,	scaled,	 based,	  strings, copies,
					       wide,  exchanged, pushed, untimed, vex, vex3, evex };

int touch(int how, char *at, size_t pages)
{
	__builtin_cpu_init();
	if (all[how] == evex && !__builtin_cpu_supports("avx512f"))
		return 0;
	if ((all[how] == vex || all[how] == vex3) && !__builtin_cpu_supports("avx"))
		return 0;
	all[how](at, pages);
	return 1;
}
#else
EACH(plain, __asm__ volatile("strb wzr, [%0]" : : "r"(at) : "memory"))
EACH(near, __asm__ volatile("str xzr, [%0, #2048]" : : "r"(at) : "memory"))
EACH(back, __asm__ volatile("stur xzr, [%0, #-256]" : : "r"(at + 256) : "memory"))
EACH(scaled, __asm__ volatile("str xzr, [%0, %1, lsl #3]" : : "r"(at - 800), "r"((size_t)100) : "memory"))
EACH(extended, __asm__ volatile("str wzr, [%0, %w1, sxtw #2]" : : "r"(at + 400), "r"(-100) : "memory"))
EACH(pair, __asm__ volatile("stp xzr, xzr, [%0, #-512]" : : "r"(at + 512) : "memory"))
EACH(wide, __asm__ volatile("str q0, [%0, #4080]" : : "r"(at) : "memory"))
EACH(pairs, __asm__ volatile("stp q0, q1, [%0, #1008]" : : "r"(at) : "memory"))
EACH(before, { char *to = at; __asm__ volatile("str xzr, [%0, #128]!" : "+r"(to) : : "memory"); })
EACH(behind, { char *to = at; __asm__ volatile("str xzr, [%0], #128" : "+r"(to) : : "memory"); })
EACH(zeroed, __asm__ volatile("dc zva, %0" : : "r"(at) : "memory"))
EACH(several, __asm__ volatile("st1 {v0.16b, v1.16b}, [%0]" : : "r"(at) : "memory"))
EACH(exchanged, { int got, x = 1; __asm__ volatile("ldxr %w0, [%2]; stxr %w0, %w1, [%2]" : "=&r"(got) : "r"(x), "r"(at)
						   : "memory"); })

static void (*const all[])(char *, size_t) = { plain, near, back, scaled, extended, pair, wide, pairs, before, behind,
					       zeroed, several, exchanged };

int touch(int how, char *at, size_t pages)
{
	all[how](at, pages);
	return 1;
}
#endif

int ways(void)
{
	return sizeof(all) / sizeof(all[0]);
}
