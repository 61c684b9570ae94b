import type { JsonValue } from '../../core/index.ts'

/** Who a socket is in a presence channel. */
export interface Member {
  readonly id: string
  readonly info: JsonValue
}

/** From the `channel_data` that the auth endpoint has signed; `null` for what is none. */
export function parseMember(channelData: string): Member | null {
  try {
    const { user_id, user_info = null } = Object(JSON.parse(channelData))
    const isId = (typeof user_id === 'string' && user_id !== '') || Number.isFinite(user_id)
    return isId ? { id: String(user_id), info: user_info } : null
  } catch {
    return null
  }
}
