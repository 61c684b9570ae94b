import { publicNameOf } from '../../protocol/index.ts'

interface Listener {
  send(text: string): void
}

/** Which sockets of this node have subscribed to what. */
export class Rooms<Socket extends Listener> {
  readonly #rooms = new Map<string, Set<Socket>>()

  enter(channel: string, socket: Socket): void {
    const room = this.#rooms.get(channel) ?? new Set()
    this.#rooms.set(channel, room.add(socket))
  }

  leave(channel: string, socket: Socket): void {
    const room = this.#rooms.get(channel)
    room?.delete(socket)
    if (room?.size === 0) this.#rooms.delete(channel)
  }

  /** The text is made only if somebody is in the room, and once for all. */
  tell(channel: string, makeText: () => string, hears: (socket: Socket) => boolean = () => true): void {
    const room = this.#rooms.get(channel)
    if (!room) return
    const text = makeText()
    for (const socket of room) if (hears(socket)) socket.send(text)
  }

  publicNames(): Iterable<string> {
    return new Set(Array.from(this.#rooms.keys(), publicNameOf))
  }
}
