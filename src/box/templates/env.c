/*
 * env.c - the environment of a template's programs.
 *
 * Runs in:  the warden.
 * Reads:    nothing: template.ini was read by template.c.
 * Never:    passes on a variable of the warden's own environment.
 */
#include <string.h>

#include "base/cleanup.h"
#include "box/state.h"
#include "box/templates/template.h"

size_t template_zygote_env(const struct template *of, const char **env, size_t max)
{
	static const char *const fixed[] = {
		"HOME=/home/user", "USER=user", "LOGNAME=user", "LANG=C.UTF-8", "TZ=UTC",
		"PATH=/opt/template/bin:/usr/local/bin:/usr/bin:/bin:/opt/reckon/bin", "TERM=dumb",
		"MPLBACKEND=Agg", "PYTHONDONTWRITEBYTECODE=1", "OPENBLAS_NUM_THREADS=1",
		"LD_BIND_NOW=1", /* kernels do not inherit it: inside/zygote.c unsets it */
	};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(fixed) && count + 1 < max; i++)
		env[count++] = fixed[i];
	for (size_t i = 0; i < of->env_count && count + 1 < max; i++)
		env[count++] = of->env[i];
	env[count] = NULL;
	return count;
}

size_t template_env(const struct template *of, const char **env, size_t max)
{
	const size_t count = template_zygote_env(of, env, max);
	size_t remaining = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(env[i], "LD_BIND_NOW=1") != 0) /* for zygotes only */
			env[remaining++] = env[i];
	env[remaining] = NULL;
	return remaining;
}
