import { publicNameOf } from '../../protocol/index.ts'

interface Subscriber {
  send(text: string): void
}

/** The sockets of this node by the channels that they have subscribed to. */
export class Subscribers<Socket extends Subscriber> {
  readonly #byChannel = new Map<string, Set<Socket>>()

  readonly #onOccupied: (channel: string, isOccupied: boolean) => void

  /** `onOccupied` is called when a channel gets its first socket of this node, and when it loses its last one. */
  constructor(onOccupied: (channel: string, isOccupied: boolean) => void = () => {}) {
    this.#onOccupied = onOccupied
  }

  add(channel: string, socket: Socket): void {
    const sockets = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, sockets.add(socket))
    if (sockets.size === 1) this.#onOccupied(channel, true)
  }

  remove(channel: string, socket: Socket): void {
    const sockets = this.#byChannel.get(channel)
    if (!sockets?.delete(socket) || sockets.size > 0) return
    this.#byChannel.delete(channel)
    this.#onOccupied(channel, false)
  }

  has(channel: string): boolean {
    return this.#byChannel.has(channel)
  }

  /** The text is created once for all sockets, and not at all if nobody has subscribed. */
  send(channel: string, createText: () => string, isMeant: (socket: Socket) => boolean = () => true): void {
    const sockets = this.#byChannel.get(channel)
    if (!sockets) return
    const text = createText()
    for (const socket of sockets) if (isMeant(socket)) socket.send(text)
  }

  /** The channels that begin with the prefix, and how many sockets each has. */
  count(prefix: string): [channel: string, sockets: number][] {
    return [...this.#byChannel]
      .filter(([channel]) => channel.startsWith(prefix))
      .map(([channel, sockets]) => [channel, sockets.size])
  }

  /** The public names of all channels with a subscriber. */
  publicNames(): Iterable<string> {
    return new Set(Array.from(this.#byChannel.keys(), publicNameOf))
  }
}
