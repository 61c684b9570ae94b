import * as writing from './writing.ts'

export async function loadWriting(): Promise<typeof writing> {
  return writing
}
