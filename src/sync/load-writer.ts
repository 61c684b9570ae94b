import * as writer from './writer.ts'

export async function loadWriter(): Promise<typeof writer> {
  return writer
}
