/** Carries out the writes of content scripts and of closed pages. It must be created at the top level. */
import { chromeContext, createCoordinator } from 'holdfast/sync'

const coordinator = createCoordinator(chromeContext())
chrome.runtime.onInstalled.addListener(() => coordinator.cleanupOrphans())
chrome.runtime.onStartup.addListener(() => coordinator.cleanupOrphans())
