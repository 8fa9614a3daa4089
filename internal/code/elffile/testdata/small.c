/* A library with one of each: a symbol of its own, a weak one, one that is hidden, one without a size, a cold part. */
int public_name(int n);
static __attribute__((noinline)) int hidden(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int public_name(int n)
{
	int sum = hidden(n);
	__asm__ volatile("" ::: "memory"); /* line 12 */
	return sum * 2;
}

int other_name(int n) __attribute__((weak, alias("public_name")));

__asm__(".text\n.globl no_size\n.type no_size, @function\nno_size:\n.cfi_startproc\nnop\nnop\nret\n.cfi_endproc\n");
