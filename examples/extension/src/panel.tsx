/** A runtime surface: the checklist in the side panel. */
import { Checklist } from './checklist.tsx'
import { show } from './surface.tsx'

await show(<Checklist />)
