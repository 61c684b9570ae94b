/**
 * What a developer sees in the console of a page, once, if the first requests to a server fail. Loaded only then, so
 * that a page that works does not carry it.
 */
import type { ApiResponse } from './api.ts'

const WHERE = 'Start a server with `npx holdfast serve`, or set the option `url` to the address of yours.'

const explained = new Set<string>()

/** A response that is not Holdfast's, or none, or `polling`: the server answers, but its WebSocket cannot be opened. */
export async function explain(url: string, about?: ApiResponse | 'polling'): Promise<void> {
  const key = about === 'polling' ? `${about} ${url}` : url
  if (explained.has(key)) return
  explained.add(key)
  const problem =
    about === 'polling' ? noSocket(url) : about ? describe(url, about) : await whyNoResponse(url)
  if (problem) console.warn(`Holdfast: ${problem}`)
}

function noSocket(url: string): string {
  const { href } = new URL('app/', url.replace('http', 'ws'))
  return `no WebSocket opens at ${href}, so the page asks the server every two seconds instead. On Node, attachSockets(server, locks.channels) opens it; a proxy must pass the Upgrade header on. Where sockets cannot work, as in Next, this is all there is.`
}

function describe(url: string, { status, body }: ApiResponse): string | undefined {
  if (body.error === 'origin_not_allowed') return originRefused(url)
  if (body.error) return undefined
  return `${url} answered ${status} with something that is not a response of Holdfast. ${WHERE}`
}

async function whyNoResponse(url: string): Promise<string> {
  const isOwn = new URL(url).origin === location.origin
  if (!isOwn && (await isHoldfast(url))) return originRefused(url)
  return `no server answers at ${url}. ${WHERE}`
}

function originRefused(url: string): string {
  const { origin } = location
  return `pages of ${origin} may not call ${url}. Set origins: ['${origin}'] in the settings of the server, or start it with --origins ${origin}.`
}

/**
 * A page learns only that a request to another origin failed: there is no server, or it does not allow the origin.
 * But a WebSocket connects to any origin, and a Holdfast server closes it with a code of its own.
 */
function isHoldfast(url: string): Promise<boolean> {
  const address = new URL('app/holdfast?protocol=7', url)
  address.protocol = address.protocol.replace('http', 'ws')
  return new Promise((resolve) => {
    const socket = new WebSocket(address)
    socket.onmessage = () => socket.close(4000)
    socket.onclose = ({ code }) => resolve(code >= 4000)
  })
}
