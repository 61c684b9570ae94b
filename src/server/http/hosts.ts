import { HttpError } from './http-error.ts'

/** Names that always mean this machine, whatever a name server says. */
const LOOPBACK = /^(localhost|[\w.-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** Accepts every name. */
const EVERY_HOST: HostCheck = () => true

/** Whether the server answers to this `Host`, with or without a port. */
export type HostCheck = (host: string) => boolean

/**
 * A page whose own name points to this machine (DNS rebinding) has the server's origin for the browser. Only its
 * `Host` shows that it is another one. So a server that listens on a loopback address answers only to names of this
 * machine and those in `hosts`. On other addresses it answers to every name until `hosts` is set.
 */
export function hostCheck(hosts: readonly string[], listensOn?: string): HostCheck {
  const isLocal = listensOn !== undefined && LOOPBACK.test(listensOn === '::1' ? '[::1]' : listensOn)
  if (hosts.length === 0 && !isLocal) return EVERY_HOST
  const names = new Set(hosts.map((host) => withoutPort(host.toLowerCase())))
  return (host) => {
    const name = withoutPort(host.toLowerCase())
    return names.has(name) || (isLocal && LOOPBACK.test(name))
  }
}

/** Without the name: it is a stranger's text. */
export function misdirected(): HttpError {
  return new HttpError(
    421,
    'host_not_allowed',
    "this server does not answer to the name in the Host header; add it to the server's hosts",
  )
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '')
}
