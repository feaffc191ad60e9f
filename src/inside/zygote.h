/* zygote.h - the functions that a language kernel may call in the code that forked it. */
#pragma once

/*
 * Restores what a raw clone() took from the calling thread: registers restartable sequences and the
 * robust futex list again. Called in every new kernel and after KERNEL_RESUME.
 */
void zygote_thread_reset(void);
