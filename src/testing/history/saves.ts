/** A save of a document that was carried out. */
export interface CarriedOutSave {
  readonly room: string
  /** Of the grant with which it was sent. */
  readonly token: number
  /** Rises within one grant. Absent: the client has sent none. */
  readonly sequence?: number | undefined
}

/**
 * No save is replaced by an older one: in the order in which they were carried out, tokens never fall, and of one grant
 * the sequence never falls. The same sequence is the same save, sent again.
 */
export function saveViolations(saves: readonly CarriedOutSave[]): string[] {
  return [...Map.groupBy(saves, ({ room }) => room).values()].flatMap((ofRoom) =>
    ofRoom.flatMap((save, at) => {
      const newer = ofRoom.slice(0, at).find((earlier) => isNewer(earlier, save))
      return newer ? [`${name(newer)} was replaced by ${name(save)}`] : []
    }),
  )
}

function isNewer(one: CarriedOutSave, other: CarriedOutSave): boolean {
  if (one.token !== other.token) return one.token > other.token
  return one.sequence !== undefined && other.sequence !== undefined && one.sequence > other.sequence
}

function name({ room, token, sequence }: CarriedOutSave): string {
  return `the save ${sequence ?? ''} of token ${token} of ${room}`.replace('  ', ' ')
}
