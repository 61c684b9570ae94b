/** The coordinator: opens the options, carries out the writes of content scripts, and keeps no state. */
import { chromeContext, createCoordinator } from '../../../src/sync/index.ts'
import { ACTIONS } from './model.ts'

const coordinator = createCoordinator(chromeContext())
const cleanUp = () => void coordinator.cleanupOrphans()

chrome.runtime.onInstalled.addListener(cleanUp)
chrome.runtime.onStartup.addListener(cleanUp)
chrome.action.onClicked.addListener(() => void chrome.runtime.openOptionsPage())
chrome.runtime.onMessage.addListener((message) => {
  if (message?.action === ACTIONS.openOptions) void chrome.runtime.openOptionsPage()
})
