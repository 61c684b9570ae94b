import { roomChannel, type Viewer } from '../protocol/index.ts'
import { roomOf } from './identity.ts'
import { MAX_VIEWED_ROOMS, SHOWN_VIEWERS } from './options.ts'
import type { Service } from './service.ts'

export interface ViewedRoom {
  readonly resource: string
  readonly count: number
  readonly first: readonly Viewer[]
}

/** Who has the room of this resource open, with presence, on any node. Nobody has a resource open that is no room. */
export function viewersOf({ channels }: Pick<Service, 'channels'>, resource: string): Viewer[] {
  const room = roomOf(resource)
  if (room === null) return []
  const members = channels.members(`presence-${roomChannel(room)}`)
  return Array.from(members, ([session_id, info]) => ({ session_id, name: nameIn(info) }))
}

/** The rooms that most people have open come first. */
export function viewedRooms(service: Pick<Service, 'channels' | 'feed'>): ViewedRoom[] {
  const viewed = Array.from(service.feed.resources, (resource) => ({
    resource,
    viewers: viewersOf(service, resource),
  }))
  return viewed
    .filter(({ viewers }) => viewers.length > 0)
    .sort((a, b) => b.viewers.length - a.viewers.length)
    .slice(0, MAX_VIEWED_ROOMS)
    .map(({ resource, viewers }) => ({
      resource,
      count: viewers.length,
      first: viewers.slice(0, SHOWN_VIEWERS),
    }))
}

function nameIn(info: unknown): string | null {
  const { name } = Object(info)
  return typeof name === 'string' ? name : null
}
