/*
 * network.c - reads proxies and certificates from the environment.
 *
 * Runs in:  programs that start an agent.
 * Reads:    the environment.
 * Never:    passes on more of it than the agent needs to reach its model.
 */
#include <stdlib.h>
#include <string.h>

#include "agent_client/agent_client.h"

static const char *first(const char *const *names)
{
	for (; *names != NULL; names++) {
		const char *value = getenv(*names);

		if (value != NULL && value[0] != '\0')
			return value;
	}
	return NULL;
}

void agent_client_network(struct agent_client_model *model)
{
	static const char *const ca[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", NULL };
	static const char *const secure[] = { "https_proxy", "HTTPS_PROXY", "all_proxy",
					      "ALL_PROXY", NULL };
	static const char *const plain[] = { "http_proxy", "all_proxy", "ALL_PROXY", NULL };
	static const char *const none[] = { "no_proxy", "NO_PROXY", NULL };

	model->ca_file = first(ca);
	model->proxy = first(strncmp(model->base_url, "https:", 6) == 0 ? secure : plain);
	model->no_proxy = first(none);
}
