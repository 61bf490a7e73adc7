/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/error_result.h"

#include <curl/curl.h>
#include <errno.h>

enum check_result error_result_errno(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return CHECK_REFUSED;
	case ECONNRESET:
	case ECONNABORTED:
	case EPIPE:
		return CHECK_RESET;
	case ETIMEDOUT:
		return CHECK_TIMED_OUT;
	/* The kernel's limits, the daemon's settings, and calls that this program must not make. */
	case EADDRINUSE:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
	case EAGAIN:
	case EBADF:
	case EFAULT:
	case EINTR:
	case EINVAL:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENODEV:
	case ENOMEM:
	case ENOSYS:
	case ENOTSOCK:
	case EPERM: /* a local packet filter */
	case EPROTONOSUPPORT:
	case ESOCKTNOSUPPORT:
		return CHECK_NOT_RUN;
	/* The rest are mostly ICMP errors: EHOSTUNREACH, ENETUNREACH, EACCES, ENOPROTOOPT, EPROTO, EMSGSIZE ... */
	default:
		return CHECK_UNREACHABLE;
	}
}

enum check_result error_result_curl(int code, bool ready)
{
	switch (code) {
	case CURLE_OK:
		return CHECK_PASSED;
	case CURLE_OPERATION_TIMEDOUT:
		return CHECK_TIMED_OUT;
	case CURLE_COULDNT_CONNECT:
		return CHECK_UNREACHABLE;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return CHECK_RESET;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_SHUTDOWN_FAILED:
	case CURLE_USE_SSL_FAILED:
		return CHECK_BAD_TLS;
	/* Before the request these are about settings, files and limits of this host. */
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_FAILED_INIT:
	case CURLE_INTERFACE_FAILED:
	case CURLE_NOT_BUILT_IN:
	case CURLE_NO_CONNECTION_AVAILABLE:
	case CURLE_RECURSIVE_API_CALL:
	case CURLE_SETOPT_OPTION_SYNTAX:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_SSL_ENGINE_SETFAILED:
	case CURLE_UNKNOWN_OPTION:
	case CURLE_UNRECOVERABLE_POLL:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
		return ready ? CHECK_BAD_REPLY : CHECK_NOT_RUN;
	/* Also CURLE_OUT_OF_MEMORY: libcurl returns it when a line of the reply is longer than its buffers may be. */
	default:
		return CHECK_BAD_REPLY;
	}
}
