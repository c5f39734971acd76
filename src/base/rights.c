// SPDX-License-Identifier: GPL-2.0-or-later
/* See rights.h: for those who hand descriptors over, broker/ and debuginfod/. */
#include "base/rights.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

int rights_send(int socket, const void *message, size_t size, int fd)
{
	struct iovec part = { (void *)(uintptr_t)message, size };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		struct cmsghdr *rights = (struct cmsghdr *)control;

		*rights = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
	}
	sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	if (sent < 0)
		return -errno;
	return sent == (ssize_t)size ? 0 : -EMSGSIZE;
}

ssize_t rights_receive(int socket, void *message, size_t size, int flags, int *fd)
{
	struct iovec part = { message, size };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(*fd))];
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *rights;

	*fd = -1;
	if (got < 0)
		return got;
	rights = CMSG_FIRSTHDR(&header);
	if (rights && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(rights), sizeof(*fd));
	return got;
}
