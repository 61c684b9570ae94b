import { publicNameOf } from '../../protocol/index.ts'

interface Subscriber {
  send(text: string): void
}

/** The sockets of this node by the channels that they have subscribed to. */
export class Subscribers<Socket extends Subscriber> {
  readonly #byChannel = new Map<string, Set<Socket>>()

  add(channel: string, socket: Socket): void {
    const sockets = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, sockets.add(socket))
  }

  remove(channel: string, socket: Socket): void {
    const sockets = this.#byChannel.get(channel)
    sockets?.delete(socket)
    if (sockets?.size === 0) this.#byChannel.delete(channel)
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
