/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stack is known by, where equal ones are counted: two hashes, made while it is walked. */
#ifndef BPF_STACK_KEY_BPF_H
#define BPF_STACK_KEY_BPF_H

/* Any odd numbers with many bits. */
#define STACK_KEY_BY_0 0x9e3779b97f4a7c15ULL
#define STACK_KEY_BY_1 0xbf58476d1ce4e5b9ULL

struct stack_key {
	__u64 a;
	__u64 b;
};

/* Each is one-to-one in what was before and in @number. */
static __always_inline struct stack_key stack_key_with(struct stack_key key, __u64 number)
{
	key.a = (key.a ^ number) * STACK_KEY_BY_0;
	key.b = (key.b + number) * STACK_KEY_BY_1;
	key.a ^= key.a >> 32;
	key.b ^= key.b >> 29;
	return key;
}

#endif
